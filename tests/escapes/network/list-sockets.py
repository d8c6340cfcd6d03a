# Asks the kernel for the sockets of the machine (socket diagnostics).
# needs: outside
from escape import *
import socket
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)
s.settimeout(2)
request = struct.pack("=BBBBI", 2, 6, 0, 0, 0xFFFFFFFF) + bytes(48)
s.send(struct.pack("=IHHII", 16 + len(request), 20, 0x301, 1, 0) + request)
if struct.pack("!H", int(E["OUTSIDE_TCP4"])) in s.recv(262144):
    escaped("the server outside was listed")
held("not listed")
