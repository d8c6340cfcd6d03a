# Sends datagrams with a call that carries many (sendmmsg), through the 32-bit entry.
# needs: outside
from escape import *
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
address = low_bytes(struct.pack("=H", 2) + struct.pack("!H", int(E["OUTSIDE_UDP4"])) + bytes([127, 0, 0, 1]) + bytes(8))
piece = low_bytes(struct.pack("2I", low_bytes(b"hello"), 5))
message = low_bytes(struct.pack("8I", address, 16, piece, 1, 0, 0, 0, 0))
print("sent:", name(syscall32(345, s.fileno(), message, 1, 0)))
