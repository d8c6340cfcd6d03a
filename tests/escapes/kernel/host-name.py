# Renames the machine, but for the pointer.
# control: root-only
from escape import *
reached("host-name", syscall(170, 1, 5))
