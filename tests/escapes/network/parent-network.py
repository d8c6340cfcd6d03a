# Enters the network of whoever started this, and connects there.
# control: root-only
# needs: outside
from escape import *
import socket
if libc.setns(os.open(f"/proc/{os.getppid()}/ns/net", os.O_RDONLY), 0x40000000):
    held(os.strerror(ctypes.get_errno()))
socket.create_connection(("127.0.0.1", int(E["OUTSIDE_TCP4"])), 2)
print("connected")
