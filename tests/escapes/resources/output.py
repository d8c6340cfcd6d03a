# Writes more than allowed.
# options: --output 64K
from escape import *
for _ in range(64):
    print("x" * 65535)
escaped("4 MiB were written")
