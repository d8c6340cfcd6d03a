# Counts what the processor does (perf_event_open).
# control: root-only
from escape import *
reached("performance-counters", syscall(298, struct.pack('2IQ', 1, 112, 0) + bytes(96), 0, -1, -1, 0))
