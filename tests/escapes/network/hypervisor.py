# Talks to the hypervisor (vsock).
# control: needs vsock
from escape import *
import socket
socket.socket(40, socket.SOCK_STREAM)
escaped("a socket to the hypervisor is open")
