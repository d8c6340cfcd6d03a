# The same through the 32-bit entry.
from escape import *
reached("segments-32", syscall32(123, 0, low_memory(), 64))
