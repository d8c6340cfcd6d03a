# The same through a descriptor: fchmod.
from escape import *
fd = os.open("program", os.O_CREAT | os.O_WRONLY, 0o755)
os.fchmod(fd, 0o6755)
print("set")
