# Loads a program into the kernel by the third set of numbers (x32).
# control: needs the x32 ABI
from escape import *
reached("x32", syscall(0x40000000 + 321, 0, None, 0))
