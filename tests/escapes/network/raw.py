# Writes packets of its own.
# control: root-only
from escape import *
import socket
socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
escaped("a raw socket is open")
