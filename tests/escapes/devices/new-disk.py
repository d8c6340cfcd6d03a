# Makes a device node for the disk below the root directory.
# control: root-only
from escape import *
import stat
os.mknod("disk", 0o600 | stat.S_IFBLK, os.stat("/usr").st_dev)
os.open("disk", os.O_RDONLY)
escaped("a node for the disk is open")
