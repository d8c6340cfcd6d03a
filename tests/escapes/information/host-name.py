# Learns the machine's name.
# needs: outside
from escape import *
import socket
for found in (socket.gethostname(), open("/proc/sys/kernel/hostname").read().strip()):
    if found == E["OUTSIDE_HOSTNAME"]:
        escaped("the machine's name")
held("another name")
