# Kills a process outside through the 32-bit entry.
# needs: outside
from escape import *
print("killed:", name(syscall32(37, int(E["OUTSIDE_VICTIM"]), 9)))
