# Asks the kernel for the network cards (route netlink).
# control: needs a network card
from escape import *
import socket
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.settimeout(2)
s.send(struct.pack("=IHHIIB3x", 20, 18, 0x301, 1, 0, 0))
answer = b""
while True:
    part = s.recv(65536)
    answer += part
    if struct.unpack_from("=H", part, 4)[0] in (2, 3):
        break
if b"eth" in answer or b"wl" in answer or b"enp" in answer or b"ens" in answer:
    escaped("the network cards were listed")
held("no cards")
