# Learns which start of the machine this is, by which sessions can be linked.
from escape import *
if len(open("/proc/sys/kernel/random/boot_id").read()) > 30:
    escaped("the boot's identity")
held("empty")
