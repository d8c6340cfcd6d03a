# Makes a hook without a name and gives it one.
from escape import *
fd = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o755)
os.write(fd, b"#!/bin/sh\n")
result = syscall(265, -100, cstr(f"/proc/self/fd/{fd}"), -100, cstr(".git/hooks/post-rewrite"), 0x400)
print("linked:", name(result))
