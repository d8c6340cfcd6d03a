# Types into the terminal by opening it anew.
# needs: terminal
from escape import *
import fcntl
for node in ["/dev/tty"] + [f"/dev/pts/{n}" for n in range(64)] + ["/proc/self/fd/0", f"/proc/{os.getppid()}/fd/0"]:
    try:
        fd = os.open(node, os.O_RDWR | os.O_NOCTTY)
        if os.ttyname(fd) == os.ttyname(0):
            fcntl.ioctl(fd, 0x5412, b"x")
            print("typed through", node)
    except OSError:
        pass
