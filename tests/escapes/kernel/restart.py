# Restarts the machine, but for the magic numbers.
# control: root-only
from escape import *
reached("restart", syscall(169, 0, 0, 0, None))
