# Moves a process outside to one processor.
# needs: outside
from escape import *
os.sched_setaffinity(int(E["OUTSIDE_VICTIM"]), {0})
escaped("the process outside was moved")
