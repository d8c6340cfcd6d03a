# Opens a mounted file system to be changed (fspick).
# control: root-only
from escape import *
reached("pick-file-system", syscall(433, -100, cstr('/nonexistent'), 0))
