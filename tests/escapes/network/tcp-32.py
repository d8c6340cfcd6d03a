# Connects through the one 32-bit call that does everything about sockets.
# needs: outside
from escape import *
fd = syscall32(102, 1, low_bytes(struct.pack("3I", 2, 1, 0)))
if fd < 0:
    held(name(fd))
address = low_bytes(struct.pack("=H", 2) + struct.pack("!H", int(E["OUTSIDE_TCP4"])) + bytes([127, 0, 0, 1]) + bytes(8))
result = syscall32(102, 3, low_bytes(struct.pack("3I", fd, address, 16)))
print("connected:", name(result))
