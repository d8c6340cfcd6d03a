# Searches the keyrings of the user and the session for a key that was put there outside.
# needs: outside
from escape import *
for ring in (-3, -4, -5, -1, -2):
    key = syscall(250, 10, ring, cstr("user"), cstr(E["OUTSIDE_KEY_NAME"]), 0)
    if key > 0:
        buffer = ctypes.create_string_buffer(256)
        syscall(250, 11, key, buffer, 256)
        token_in(buffer.raw, "a keyring")
held(f"no such key: {name(key)}")
