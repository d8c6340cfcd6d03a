# Attaches a System V segment through the one 32-bit call for all of them.
# needs: outside
from escape import *
where = low_memory()
result = syscall32(117, 21, int(E["OUTSIDE_SHM"]), 0o10000, where, 0, 0)
if result < 0 and result > -4096:
    held(name(result))
token_in(ctypes.string_at(struct.unpack("I", ctypes.string_at(where, 4))[0], 64), "shared memory")
