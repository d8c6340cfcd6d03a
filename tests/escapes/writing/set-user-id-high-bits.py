# The same with bits set above those that the kernel looks at, to slip past a filter.
from escape import *
os.close(os.open("program", os.O_CREAT | os.O_WRONLY, 0o755))
result = syscall(90, cstr("program"), 0o4755 | 1 << 32 | 1 << 16)
print("set:", name(result))
