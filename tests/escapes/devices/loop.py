# Asks for a loop device, through which any file becomes a disk.
# control: root-only
from escape import *
os.open("/dev/loop-control", os.O_RDWR)
escaped("/dev/loop-control is open")
