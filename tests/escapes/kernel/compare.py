# Compares kernel objects of processes (kcmp), which gives their order in memory away.
from escape import *
reached("compare", syscall(312, os.getpid(), os.getpid(), 1, 0, 0))
