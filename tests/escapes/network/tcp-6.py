# Connects to a server on the machine with IPv6.
# needs: outside
# control: needs IPv6
from escape import *
import socket
socket.create_connection(("::1", int(E["OUTSIDE_TCP6"])), 2)
print("connected")
