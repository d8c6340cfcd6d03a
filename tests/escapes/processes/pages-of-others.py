# Asks where the pages of a process outside lie.
# needs: outside
from escape import *
result = syscall(256, int(E["OUTSIDE_VICTIM"]), 64, ctypes.byref(ctypes.c_ulong(1)), ctypes.byref(ctypes.c_ulong(1)))
if result < 0:
    held(name(result))
escaped("its pages were moved")
