# Writes to the skill through the 32-bit entry.
from escape import *
path = low_bytes(E["OUTSIDE_SKILL"].encode() + b"/SKILL.md\0")
fd = syscall32(5, path, os.O_WRONLY | os.O_APPEND, 0)
if fd < 0:
    held(name(fd))
os.write(fd, b"owned\n")
print("written")
