# Tries every protocol of the internet besides the usual.
from escape import *
import socket
for protocol in (132, 33, 136, 262, 1, 115, 46):
    for kind in (1, 2, 5, 6):
        try:
            socket.socket(socket.AF_INET, kind, protocol)
            escaped(f"a socket of protocol {protocol} is open")
        except OSError:
            pass
held("no rare protocol")
