# Goes before all others at the disk.
# control: root-only
from escape import *
result = syscall(251, 1, 0, 1 << 13)
if result < 0:
    held(name(result))
escaped("it is first at the disk")
