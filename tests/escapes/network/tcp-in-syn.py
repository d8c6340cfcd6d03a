# Sends data with the first packet, without connecting (TCP fast open).
# needs: outside
from escape import *
import socket
s = socket.socket()
s.sendto(b"hello", 0x20000000, ("127.0.0.1", int(E["OUTSIDE_TCP4"])))
print("sent")
