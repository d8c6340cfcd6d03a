# Lists the machine's System V segments.
# needs: outside
from escape import *
info = ctypes.create_string_buffer(256)
for index in range(1000):
    if libc.shmctl(index, 13, info) == int(E["OUTSIDE_SHM"]):
        escaped("the segment outside was listed")
held("not listed")
