# Mounts a file system.
# control: root-only
from escape import *
reached("mount", syscall(165, cstr('none'), cstr('/nonexistent'), cstr('tmpfs'), 0, None))
