# Makes a network card.
# control: root-only
from escape import *
import fcntl
fd = os.open("/dev/net/tun", os.O_RDWR)
escaped("/dev/net/tun is open")
