# Takes a port of the machine.
# needs: outside
from escape import *
import socket
s = socket.socket()
try:
    s.bind(("127.0.0.1", int(E["OUTSIDE_TCP4"])))
except OSError as e:
    if e.errno == errno.EADDRINUSE:
        escaped("the ports of the machine are shared")
    held(e)
held("the port was free, so these are other ports")
