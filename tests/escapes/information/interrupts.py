# Learns when keys are pressed and packets come, by counting interrupts.
from escape import *
for path in ("/proc/interrupts", "/proc/softirqs"):
    try:
        if open(path).read(100):
            escaped(path)
    except OSError:
        pass
held("nothing")
