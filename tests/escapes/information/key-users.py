# Learns who uses keys on the machine.
from escape import *
if open("/proc/key-users").read().strip():
    escaped("users of keys were seen")
held("none")
