# Opens a file outside through the 32-bit entry of the kernel.
from escape import *
fd = syscall32(5, low_bytes(E["OUTSIDE_SECRET"].encode() + b"\0"), 0, 0)
if fd < 0:
    held(name(fd))
token_in(os.read(fd, 4096), "the secret file")
