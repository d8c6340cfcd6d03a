# Makes a harmless device node, which opens the way for others.
# control: root-only
from escape import *
import stat
os.mknod("zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
escaped("a device node was made")
