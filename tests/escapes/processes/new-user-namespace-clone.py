# The same with clone.
from escape import *
result = syscall(56, 0x10000000 | 17, None, None, None, None)
if result == 0:
    os._exit(0)
if result < 0:
    held(name(result))
os.waitpid(result, 0)
escaped("a user namespace was made")
