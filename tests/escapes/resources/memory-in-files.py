# Takes more memory than allowed, in files that are only memory.
# options: --memory 96M --file 8M
from escape import *
files = []
block = bytes(1 << 20)
for _ in range(64):
    fd = os.memfd_create("m")
    for _ in range(6):
        os.write(fd, block)
    files.append(fd)
import time
time.sleep(1)
escaped("384 MiB are in use")
