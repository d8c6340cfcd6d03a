# Takes a descriptor out of a process outside.
# needs: outside
from escape import *
pidfd = syscall(434, int(E["OUTSIDE_VICTIM"]), 0)
if pidfd < 0:
    held(name(pidfd))
fd = syscall(438, pidfd, int(E["OUTSIDE_VICTIM_FD"]), 0)
if fd < 0:
    held(name(fd))
token_in(os.pread(fd, 4096, 0), "a descriptor of a process outside")
