# Opens the machine's memory and ports.
# control: needs /dev/mem
from escape import *
for node in ("/dev/mem", "/dev/kmem", "/dev/port"):
    if os.path.exists(node):
        os.open(node, os.O_RDONLY)
        escaped(f"{node} is open")
held("no such device")
