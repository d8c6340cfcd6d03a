# Takes more memory than allowed.
# options: --memory 96M
from escape import *
block = bytearray(400 << 20)
for at in range(0, len(block), 4096):
    block[at] = 1
escaped("400 MiB are in use")
