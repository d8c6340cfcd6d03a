# Learns how the kernel was built.
# control: needs /proc/config.gz
from escape import *
if open("/proc/config.gz", "rb").read(2) == b"\x1f\x8b":
    escaped("the kernel's configuration")
held("empty")
