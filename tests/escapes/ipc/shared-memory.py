# Reads a System V segment of the outside.
# needs: outside
from escape import *
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(int(E["OUTSIDE_SHM"]), None, 0o10000)
if at in (None, ctypes.c_void_p(-1).value):
    held(os.strerror(ctypes.get_errno()))
token_in(ctypes.string_at(at, 64), "shared memory")
