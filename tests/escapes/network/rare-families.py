# Tries every address family besides the usual.
from escape import *
import socket
for family in range(3, 64):
    if family not in (10, 16):
        for kind in (1, 2, 3, 5):
            try:
                socket.socket(family, kind, 0)
                escaped(f"a socket of family {family} is open")
            except OSError:
                pass
held("no rare family")
