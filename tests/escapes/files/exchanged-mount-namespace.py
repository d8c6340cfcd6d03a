# Enters the mount namespace of whoever started this.
# control: root-only
from escape import *
fd = os.open(f"/proc/{os.getppid()}/ns/mnt", os.O_RDONLY)
if libc.setns(fd, 0x20000):
    held(os.strerror(ctypes.get_errno()))
token_in(open(E["OUTSIDE_SECRET"]).read(), "the parent's mounts")
