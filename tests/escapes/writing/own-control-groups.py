# Mounts the control groups for itself.
# control: root-only
from escape import *
os.mkdir("groups")
if libc.unshare(0x20000 | 0x02000000) or libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None):
    held("no namespaces")
if libc.mount(b"none", b"groups", b"cgroup2", 0, None) and libc.mount(b"none", b"groups", b"cgroup", 0, b"memory"):
    held("not mounted")
escaped("control groups were mounted")
