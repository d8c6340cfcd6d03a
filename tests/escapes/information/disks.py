# Learns which disks there are.
from escape import *
for path in ("/proc/partitions", "/proc/diskstats", "/proc/swaps", "/proc/mdstat"):
    try:
        if len(open(path).read().splitlines()) > 1:
            escaped(path)
    except OSError:
        pass
held("no disks")
