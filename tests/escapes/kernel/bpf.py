# Loads a program into the kernel (bpf).
from escape import *
reached("bpf", syscall(321, 0, bytes(128), 128))
