# Asks for notices of directories and leases on files (fcntl), which tell which programs of the system are opened by anybody.
# control: needs dnotify
import signal
from escape import *
directory = os.open("/usr/bin", os.O_RDONLY)
signal.signal(signal.SIGIO, signal.SIG_IGN)
for mask in (0x1, 0x80000001, 0x3F):
    if libc.fcntl(directory, 1026, mask) >= 0:
        libc.fcntl(directory, 1026, 0)
        escaped(f"notices of /usr/bin are on with mask {mask:#x}")
held(errno.errorcode[ctypes.get_errno()])
