# Takes a lease on a file that it can read, which tells when another program opens it.
# control: needs leases
import signal
from escape import *
name = f"lease-{os.getpid()}"
with open(name, "w"):
    pass
descriptor = os.open(name, os.O_RDONLY)
signal.signal(signal.SIGIO, signal.SIG_IGN)
taken = libc.fcntl(descriptor, 1024, 0)
number = ctypes.get_errno()
os.unlink(name)
if taken >= 0:
    escaped("a lease was taken")
held(errno.errorcode[number])
