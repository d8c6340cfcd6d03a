# Talks to the packet filter and the other families of netlink.
from escape import *
import socket
for family in (2, 3, 6, 10, 12, 16, 18, 20, 21):
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, family)
        escaped(f"netlink family {family} is open")
    except OSError:
        pass
held("no family is open")
