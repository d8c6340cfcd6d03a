# Mounts a file system through the 32-bit entry.
# control: root-only
from escape import *
reached("mount-32", syscall32(21, low_bytes(b'none\0'), low_bytes(b'/nonexistent\0'), low_bytes(b'tmpfs\0'), 0, 0))
