# Types into the terminal through the 32-bit entry.
# needs: terminal
from escape import *
for letter in b"id\n":
    result = syscall32(54, 0, 0x5412, low_bytes(bytes([letter])))
print("typed:", name(result))
