# Connects to a server on the machine.
# needs: outside
from escape import *
import socket
socket.create_connection(("127.0.0.1", int(E["OUTSIDE_TCP4"])), 2)
print("connected")
