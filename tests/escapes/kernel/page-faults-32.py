# The same through the 32-bit entry.
from escape import *
reached("page-faults-32", syscall32(374, 1))
