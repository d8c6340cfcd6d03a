# Uses the kernel's ciphers (AF_ALG), which had many holes.
# control: needs AF_ALG
from escape import *
import socket
s = socket.socket(38, socket.SOCK_SEQPACKET)
escaped("a socket to the kernel's ciphers is open")
