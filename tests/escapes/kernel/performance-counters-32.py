# Counts what the processor does, through the 32-bit entry.
# control: root-only
from escape import *
reached("performance-counters-32", syscall32(336, low_bytes(struct.pack('2IQ', 1, 112, 0) + bytes(96)), 0, -1, -1, 0))
