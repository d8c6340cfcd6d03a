# Enters the processor's oldest mode (vm86).
# control: needs vm86
from escape import *
reached("old-mode", syscall32(166, 0, 0))
