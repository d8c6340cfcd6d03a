# Takes a descriptor out of whoever started this.
from escape import *
pidfd = syscall(434, os.getppid(), 0)
if pidfd < 0:
    held(name(pidfd))
for there in range(3, 32):
    fd = syscall(438, pidfd, there, 0)
    if fd >= 0:
        try:
            text = os.pread(fd, 4096, 0)
        except OSError:
            continue
        if b"token-" in text:
            token_in(text, "the parent's descriptor")
held("none taken")
