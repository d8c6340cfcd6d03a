# Writes into a System V segment of the outside.
# needs: outside
from escape import *
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(int(E["OUTSIDE_SHM"]), None, 0)
if at in (None, ctypes.c_void_p(-1).value):
    held(os.strerror(ctypes.get_errno()))
ctypes.memmove(at, b"owned", 5)
print("written")
