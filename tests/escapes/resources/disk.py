# Writes more than allowed, in many files of allowed size.
# options: --file 2M --disk 4M
from escape import *
import time
for number in range(32):
    with open(f"part-{number}", "wb") as f:
        f.write(bytes(1 << 20))
    time.sleep(0.05)
time.sleep(1)
escaped("32 MiB were written")
