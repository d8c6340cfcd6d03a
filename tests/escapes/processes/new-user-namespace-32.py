# The same through the 32-bit entry: unshare and clone.
from escape import *
result = syscall32(310, 0x10000000)
if result < 0:
    result = syscall32(120, 0x10000000 | 17, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
if result < 0:
    held(name(result))
escaped("a user namespace was made")
