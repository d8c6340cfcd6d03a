# Reads what lies in /dev/shm outside.
# needs: outside
from escape import *
token_in(open(E["OUTSIDE_SHM_FILE"]).read(), "/dev/shm")
