# Sets attributes of files by the newest call (file_setattr).
# control: needs file_setattr
from escape import *
reached("file-attributes", syscall(469, -100, cstr('/nonexistent'), bytes(24), 24, 0))
