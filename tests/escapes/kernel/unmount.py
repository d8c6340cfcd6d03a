# Unmounts a file system.
# control: root-only
from escape import *
reached("unmount", syscall(166, cstr('/nonexistent'), 0))
