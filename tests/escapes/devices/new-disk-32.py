# Makes a device node through the 32-bit entry.
# control: root-only
from escape import *
result = syscall32(14, low_bytes(b"disk32\0"), 0o060600, os.stat("/usr").st_dev)
if result < 0:
    held(name(result))
escaped("a node for the disk was made")
