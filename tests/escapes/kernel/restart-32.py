# The same through the 32-bit entry.
# control: root-only
from escape import *
reached("restart-32", syscall32(88, 0, 0, 0, 0))
