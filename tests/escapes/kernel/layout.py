# Turns the randomness of its memory off (personality).
from escape import *
reached("layout", syscall(135, 0x0040000))
