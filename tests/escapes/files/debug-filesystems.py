# Mounts file systems that show the kernel's insides.
# control: root-only
from escape import *
if libc.unshare(0x20000) or libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None):
    held("no mount namespace")
os.mkdir("d")
for kind in (b"tracefs", b"debugfs", b"securityfs", b"bpf", b"sysfs"):
    if libc.mount(b"none", b"d", kind, 0, None) == 0:
        escaped(f"{kind.decode()} was mounted")
held("nothing could be mounted")
