# Connects with a protocol that old rules do not know (MPTCP).
# needs: outside
# control: needs MPTCP
from escape import *
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.connect(("127.0.0.1", int(E["OUTSIDE_TCP4"])))
print("connected")
