# The same through the 32-bit entry.
from escape import *
reached("trace-me-32", syscall32(26, 0, 0, 0, 0))
