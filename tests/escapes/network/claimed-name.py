# Takes a name among the machine's sockets, for others to talk to.
# needs: outside
from escape import *
import socket
s = socket.socket(socket.AF_UNIX)
try:
    s.bind("\0" + E["OUTSIDE_ABSTRACT"])
except OSError as e:
    if e.errno == errno.EADDRINUSE:
        escaped("the names of the machine are shared")
    held(e)
held("the name was free, so these are other names")
