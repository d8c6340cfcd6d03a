# Calls bpf by a number with bits set above the 32 that the kernel looks at.
from escape import *
reached("bpf", syscall(321 | 1 << 32, 0, bytes(128), 128))
