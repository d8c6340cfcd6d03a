# Learns which System V segments and queues there are.
# needs: outside
from escape import *
for path in ("/proc/sysvipc/shm", "/proc/sysvipc/msg"):
    if any(E["OUTSIDE_SHM"] in line.split()[1:2] for line in open(path).read().splitlines()[1:]):
        escaped("the segment outside was seen")
held("none")
