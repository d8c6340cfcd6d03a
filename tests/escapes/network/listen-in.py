# Listens to every packet of the machine.
# control: root-only
from escape import *
import socket
socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
escaped("a packet socket is open")
