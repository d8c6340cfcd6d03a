# Sends a datagram to a server outside, from one of a pair of sockets of the raw kind, which the kernel makes datagram sockets.
# needs: outside
from escape import *
import socket
s, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW | socket.SOCK_CLOEXEC)
s.sendto(b"hello", "d.sock")
print("sent")
