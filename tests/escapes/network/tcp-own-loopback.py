# The same when the skill was allowed a loopback of its own.
# needs: outside
# options: --network loopback
from escape import *
import socket
socket.create_connection(("127.0.0.1", int(E["OUTSIDE_TCP4"])), 2)
print("connected")
