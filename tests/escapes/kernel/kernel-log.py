# Reads the kernel's log (syslog).
# control: root-only
from escape import *
reached("kernel-log", syscall(103, 10, None, 0))
