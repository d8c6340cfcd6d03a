# Looks at the machine's devices in /sys.
from escape import *
for place in ("/sys/block", "/sys/class/net", "/sys/class/dmi/id", "/sys/kernel", "/sys/fs/cgroup", "/sys/devices"):
    if os.path.isdir(place) and os.listdir(place):
        escaped(f"{place} can be listed")
held("no /sys")
