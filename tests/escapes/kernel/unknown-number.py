# Calls by numbers that mean nothing yet, or are only wide in their upper half.
# control: needs a call by such a number
from escape import *
for number in (600, 1000, 0xFFFF, 1 << 31, -1, 335 + (1 << 32)):
    result = syscall(number, 0, 0, 0)
    if -result not in (errno.ENOSYS, errno.EPERM):
        escaped(f"call {number} was answered with {name(result)}")
held("unknown calls are refused")
