# Sends a datagram to a server on the machine.
# needs: outside
from escape import *
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("127.0.0.1", int(E["OUTSIDE_UDP4"])))
print("sent")
