# Writes into the audit log.
# control: root-only
from escape import *
import socket
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)
s.settimeout(2)
s.send(struct.pack("=IHHII", 16, 1000, 5, 1, 0))
answer = s.recv(4096)
code = struct.unpack_from("=i", answer, 16)[0] if answer[4:6] == b"\2\0" else 0
if code in (-1, -111):
    held("refused")
escaped("the audit system answers")
