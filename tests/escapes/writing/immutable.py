# Makes a file that nobody can remove.
# control: root-only
from escape import *
import fcntl
fd = os.open("stone", os.O_CREAT | os.O_RDONLY, 0o644)
flags = ctypes.c_long()
fcntl.ioctl(fd, 0x80086601, flags)
before = flags.value
flags.value |= 0x10
fcntl.ioctl(fd, 0x40086602, flags)
flags.value = before
fcntl.ioctl(fd, 0x40086602, flags)
escaped("a file was made immutable")
