# Asks the kernel for a key that was put into a keyring outside.
# needs: outside
from escape import *
key = syscall(249, cstr("user"), cstr(E["OUTSIDE_KEY_NAME"]), None, 0)
if key < 0:
    held(name(key))
escaped(f"got key {key}")
