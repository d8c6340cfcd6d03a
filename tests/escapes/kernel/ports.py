# Asks for all of the processor's ports (iopl).
# control: needs iopl
from escape import *
reached("ports", syscall(172, 3))
