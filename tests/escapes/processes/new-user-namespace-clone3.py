# The same with clone3, whose arguments no filter can see.
from escape import *
arguments = struct.pack("11Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
result = syscall(435, arguments, 88)
if result == 0:
    os._exit(0)
if result < 0:
    held(name(result))
os.waitpid(result, 0)
escaped("a user namespace was made")
