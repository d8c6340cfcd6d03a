# Learns which processes run on the machine.
# needs: outside
from escape import *
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if pid == E["OUTSIDE_VICTIM"] and open(f"/proc/{pid}/cmdline").read().startswith("/usr/bin/sleep"):
            escaped("a process outside was seen")
    except OSError:
        pass
held("only its own processes")
