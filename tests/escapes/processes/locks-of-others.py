# Asks where a process outside keeps its locks, which gives an address in its memory away.
# needs: outside
from escape import *
head, size = ctypes.c_long(), ctypes.c_long()
result = syscall(274, int(E["OUTSIDE_VICTIM"]), ctypes.byref(head), ctypes.byref(size))
if result < 0:
    held(name(result))
escaped("the address is known")
