# Reads the kernel's log.
# control: root-only
from escape import *
fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
escaped(f"{len(os.read(fd, 8192))} bytes of the kernel's log")
