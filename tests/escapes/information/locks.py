# Learns which files are locked on the machine.
# needs: outside
from escape import *
inode = ":" + E["OUTSIDE_LOCK"] + " "
if inode in open("/proc/locks").read():
    escaped("the lock outside was seen")
held("no such lock")
