# The same through the 32-bit entry.
# control: root-only
# needs: outside
from escape import *
handle = low_bytes(bytes.fromhex(E["OUTSIDE_HANDLE"]))
fd = syscall32(342, os.open(".", os.O_RDONLY), handle, os.O_RDONLY)
if fd < 0:
    held(name(fd))
token_in(os.read(fd, 4096), "a handle")
