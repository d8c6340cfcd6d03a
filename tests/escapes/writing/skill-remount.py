# Mounts the skill anew, writable.
from escape import *
where = E["OUTSIDE_SKILL"].encode()
libc.unshare(0x10000000 | 0x20000)
libc.mount(None, where, None, 0x1000 | 0x20, None)
with open(E["OUTSIDE_SKILL"] + "/SKILL.md", "a") as f:
    f.write("owned\n")
print("written")
