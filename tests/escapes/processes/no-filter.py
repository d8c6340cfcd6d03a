# Looks whether calls are filtered, and tries to go back to no filter.
from escape import *
syscall(157, 22, 0, 0, 0, 0)
if "Seccomp:\t2" in open("/proc/self/status").read():
    held("calls are filtered")
escaped("calls are not filtered")
