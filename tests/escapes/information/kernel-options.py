# Learns how the kernel was started.
from escape import *
if open("/proc/cmdline").read().strip():
    escaped("the kernel's command line")
held("empty")
