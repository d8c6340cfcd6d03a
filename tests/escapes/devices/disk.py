# Reads the disk below the root directory, past every file permission.
# control: needs a disk that root may read
from escape import *
for line in open("/proc/partitions").read().splitlines()[2:]:
    node = "/dev/" + line.split()[3]
    try:
        if len(os.read(os.open(node, os.O_RDONLY), 512)) == 512:
            escaped(f"{node} can be read")
    except OSError:
        pass
held("no disk")
