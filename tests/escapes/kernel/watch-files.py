# Watches files all over the system (fanotify_init).
from escape import *
reached("watch-files", syscall(300, 0x200, 0))
