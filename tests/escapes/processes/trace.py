# Attaches to a process outside as a debugger.
# needs: outside
from escape import *
result = syscall(101, 16, int(E["OUTSIDE_VICTIM"]), 0, 0)
if result < 0:
    held(name(result))
escaped("attached to the process outside")
