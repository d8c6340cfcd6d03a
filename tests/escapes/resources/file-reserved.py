# Reserves room for a file larger than allowed.
# options: --file 1M
from escape import *
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fd = os.open("reserved", os.O_CREAT | os.O_RDWR, 0o600)
os.posix_fallocate(fd, 0, 8 << 20)
escaped("8 MiB were reserved")
