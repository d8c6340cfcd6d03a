# Reads a key that was put into a keyring outside, by its number.
# needs: outside
from escape import *
buffer = ctypes.create_string_buffer(256)
got = syscall(250, 11, int(E["OUTSIDE_KEY"]), buffer, 256)
if got < 0:
    held(name(got))
token_in(buffer.raw, "a key")
