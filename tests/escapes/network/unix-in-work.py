# Connects to a server outside whose socket lies in the work directory.
# needs: outside
from escape import *
import socket
socket.socket(socket.AF_UNIX).connect("w.sock")
print("connected")
