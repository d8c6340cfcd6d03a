# Makes a user namespace, in which it would have every capability.
from escape import *
result = syscall(272, 0x10000000)
if result < 0:
    held(name(result))
escaped("a user namespace was made")
