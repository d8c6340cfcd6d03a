# Reads a key through the 32-bit entry.
# needs: outside
from escape import *
buffer = low_memory()
got = syscall32(288, 11, int(E["OUTSIDE_KEY"]), buffer, 256)
if got < 0:
    held(name(got))
token_in(ctypes.string_at(buffer, 256), "a key")
