# The same through the 32-bit entry.
from escape import *
reached("layout-32", syscall32(136, 0x0040000))
