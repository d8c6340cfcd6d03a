# The same through the 32-bit entry.
# needs: outside
from escape import *
fd = syscall32(359, 1, 1, 0)
if fd < 0:
    held(name(fd))
address = struct.pack("=H", 1) + b"\0" + E["OUTSIDE_ABSTRACT"].encode()
print("connected:", name(syscall32(362, fd, low_bytes(address), len(address))))
