# Learns how the machine's memory is used.
# control: root-only
from escape import *
for path in ("/proc/iomem", "/proc/vmallocinfo", "/proc/slabinfo", "/proc/kpageflags", "/proc/pagetypeinfo"):
    try:
        if open(path, "rb").read(64):
            escaped(path)
    except OSError:
        pass
held("nothing")
