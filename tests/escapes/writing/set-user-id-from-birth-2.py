# The same when the file is made: openat2, whose arguments no filter can see.
from escape import *
os.umask(0)
how = struct.pack("3Q", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
result = syscall(437, -100, cstr("program"), how, 24)
print("made:", name(result))
