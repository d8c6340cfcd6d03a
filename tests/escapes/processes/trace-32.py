# The same through the 32-bit entry.
# needs: outside
from escape import *
result = syscall32(26, 16, int(E["OUTSIDE_VICTIM"]), 0, 0)
if result < 0:
    held(name(result))
escaped("attached to the process outside")
