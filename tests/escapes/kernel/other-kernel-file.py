# Loads another kernel from a file (kexec_file_load).
# control: needs kexec
from escape import *
reached("other-kernel-file", syscall(320, -1, -1, 0, None, 0))
