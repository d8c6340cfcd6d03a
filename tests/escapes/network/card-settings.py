# Changes the settings of the loopback card, over whatever socket there is.
# control: root-only
from escape import *
import fcntl, socket
s = None
for family in (socket.AF_INET, socket.AF_UNIX, socket.AF_INET6):
    try:
        s = socket.socket(family, socket.SOCK_DGRAM)
        break
    except OSError:
        pass
if s is None:
    held("no socket")
size = fcntl.ioctl(s, 0x8921, struct.pack("16s16x", b"lo"))
fcntl.ioctl(s, 0x8922, size)
escaped("the card's packet size was set")
