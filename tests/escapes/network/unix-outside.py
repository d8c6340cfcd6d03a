# Connects to a socket outside by its path.
# needs: outside
from escape import *
import socket
socket.socket(socket.AF_UNIX).connect(E["OUTSIDE_UNIX"])
print("connected")
