# Connects by a request in a ring (io_uring), which no filter of calls sees.
# needs: outside
from escape import *
import socket
parameters = ctypes.create_string_buffer(120)
ring = syscall(425, 4, parameters)
if ring < 0:
    held(name(ring))
numbers = struct.unpack("30I", parameters.raw)
sq, cq = numbers[10:20], numbers[20:30]
rings = mmap.mmap(ring, 8192, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ | mmap.PROT_WRITE, offset=0)
entries = mmap.mmap(ring, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=0x10000000)
s = socket.socket()
address = ctypes.create_string_buffer(
    struct.pack("=H", 2) + struct.pack("!H", int(E["OUTSIDE_TCP4"])) + bytes([127, 0, 0, 1]) + bytes(8), 16
)
entries[0:64] = struct.pack("=BBHiQQIIQ", 16, 0, 0, s.fileno(), 16, ctypes.addressof(address), 0, 0, 7) + bytes(24)
rings[sq[6] : sq[6] + 4] = struct.pack("I", 0)
rings[sq[1] : sq[1] + 4] = struct.pack("I", 1)
print("submitted:", name(syscall(426, ring, 1, 1, 1, None, 0)))
