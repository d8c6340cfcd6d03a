# Listens to what the kernel says about devices.
from escape import *
import socket
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)
s.bind((0, 1))
escaped("listens to the kernel's events")
