# Learns what the kernel is about to do, and for whom.
# control: root-only
from escape import *
for path in ("/proc/timer_list", "/proc/sched_debug", "/sys/kernel/debug/sched/debug"):
    try:
        if open(path).read(100):
            escaped(path)
    except OSError:
        pass
held("nothing")
