# Raises a System V semaphore of the outside.
# needs: outside
from escape import *
if libc.semctl(int(E["OUTSIDE_SEM"]), 0, 16, 7):
    held(os.strerror(ctypes.get_errno()))
print("raised")
