# Sets a line discipline of its terminal, which loads old drivers.
from escape import *
import fcntl
master, slave = os.openpty()
for number in (3, 13, 21, 25, 27, 1, 4, 5, 6, 7, 15, 16):
    try:
        fcntl.ioctl(slave, 0x5423, struct.pack("i", number))
        escaped(f"line discipline {number} was set")
    except OSError:
        pass
held("no discipline could be set")
