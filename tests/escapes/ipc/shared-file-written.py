# Changes what lies in /dev/shm outside.
# needs: outside
from escape import *
with open(E["OUTSIDE_SHM_FILE"], "r+") as f:
    f.write("owned")
print("written")
