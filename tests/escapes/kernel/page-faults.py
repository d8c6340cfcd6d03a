# Handles its own page faults (userfaultfd), with which races in the kernel are won.
from escape import *
reached("page-faults", syscall(323, 1))
