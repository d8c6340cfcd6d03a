# Slows a process outside down.
# needs: outside
from escape import *
os.setpriority(os.PRIO_PROCESS, int(E["OUTSIDE_VICTIM"]), 19)
print("slowed")
