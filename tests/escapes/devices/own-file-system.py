# Opens the door to file systems made by programs.
# control: root-only
from escape import *
os.open("/dev/fuse", os.O_RDWR)
escaped("/dev/fuse is open")
