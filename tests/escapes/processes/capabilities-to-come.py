# Looks for capabilities that a program could still gain.
from escape import *
for line in open("/proc/self/status"):
    if line.startswith("CapBnd") and int(line.split()[1], 16):
        escaped(line.strip())
held("the bounding set is empty")
