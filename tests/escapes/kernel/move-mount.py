# Moves a mount.
# control: root-only
from escape import *
reached("move-mount", syscall(429, -1, cstr(''), -1, cstr(''), 4 | 0x40))
