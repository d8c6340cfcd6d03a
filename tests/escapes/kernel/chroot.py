# Changes its root.
from escape import *
reached("chroot", syscall(161, cstr('/nonexistent')))
