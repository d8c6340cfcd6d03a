# Traces by the third set of numbers, where some have other places.
# control: needs the x32 ABI
from escape import *
reached("x32-trace", syscall(0x40000000 + 521, 0, 0, 0, 0))
