# Changes the attributes of a mount (mount_setattr).
# control: root-only
from escape import *
reached("mount-attributes", syscall(442, -100, cstr('/nonexistent'), 0, bytes(32), 32))
