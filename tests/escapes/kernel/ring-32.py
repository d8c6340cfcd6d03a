# The same through the 32-bit entry.
from escape import *
reached("ring-32", syscall32(425, 4, low_memory()))
