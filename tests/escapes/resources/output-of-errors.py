# Writes more than allowed to the other stream.
# options: --output 64K
from escape import *
import sys
for _ in range(64):
    print("x" * 65535, file=sys.stderr)
sys.stderr.flush()
import time
time.sleep(0.5)
escaped("4 MiB were written")
