# Kills a process outside by its number.
# needs: outside
from escape import *
os.kill(int(E["OUTSIDE_VICTIM"]), 9)
print("killed")
