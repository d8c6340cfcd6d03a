# Loads a program into the kernel through the 32-bit entry.
from escape import *
reached("bpf-32", syscall32(357, 0, low_bytes(bytes(128)), 128))
