# Sets the clock, to nothing.
# control: root-only
from escape import *
reached("clock", syscall(164, None, None))
