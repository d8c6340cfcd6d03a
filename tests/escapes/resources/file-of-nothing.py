# Makes a file that is larger than allowed and takes no room.
# options: --file 1M
from escape import *
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fd = os.open("sparse", os.O_CREAT | os.O_RDWR, 0o600)
os.ftruncate(fd, 1 << 36)
escaped("a file of 64 GiB was made")
