# Connects to a server outside by a name that is no path.
# needs: outside
from escape import *
import socket
socket.socket(socket.AF_UNIX).connect("\0" + E["OUTSIDE_ABSTRACT"])
print("connected")
