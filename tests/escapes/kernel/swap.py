# Adds room for swapping.
# control: root-only
from escape import *
reached("swap", syscall(167, None, 0))
