# Asks for one of the processor's ports (ioperm).
# control: needs ioperm
from escape import *
reached("some-ports", syscall(173, 0x80, 1, 1))
