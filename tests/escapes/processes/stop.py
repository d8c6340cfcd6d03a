# Stops a process outside.
# needs: outside
from escape import *
os.kill(int(E["OUTSIDE_VICTIM"]), 19)
print("stopped")
