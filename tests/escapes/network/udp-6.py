# Sends a datagram to a server on the machine with IPv6, to an address mapped from IPv4.
# needs: outside
# control: needs IPv6
from escape import *
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.sendto(b"hello", ("::ffff:127.0.0.1", int(E["OUTSIDE_UDP4"])))
print("sent")
