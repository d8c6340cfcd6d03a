# Sets limits for users of a disk (quotactl).
from escape import *
reached("quota", syscall(179, 0x800001 << 8, cstr('/nonexistent'), 0, None))
