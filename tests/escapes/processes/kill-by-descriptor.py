# Kills a process outside by a descriptor for it.
# needs: outside
from escape import *
fd = syscall(434, int(E["OUTSIDE_VICTIM"]), 0)
if fd < 0:
    held(name(fd))
print("killed:", name(syscall(424, fd, 9, None, 0)))
