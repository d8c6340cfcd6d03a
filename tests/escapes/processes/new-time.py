# Changes its own view of time, where that is a namespace.
# control: root-only
from escape import *
if syscall(272, 0x80) < 0:
    held("no time namespace")
with open("/proc/self/timens_offsets", "w") as f:
    f.write("boottime 1000 0")
escaped("the clock was set")
