# The same with bits set above the 32 that the kernel looks at, to slip past a filter.
from escape import *
result = syscall(56, 1 << 40 | 0x10000000 | 17, None, None, None, None)
if result == 0:
    os._exit(0)
if result < 0:
    held(name(result))
os.waitpid(result, 0)
escaped("a user namespace was made")
