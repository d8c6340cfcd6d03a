# The same through the 32-bit entry.
# control: root-only
from escape import *
reached("clock-32", syscall32(79, 0, 0))
