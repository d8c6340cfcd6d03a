# Watches which programs of the system are opened by anybody.
from escape import *
watch = libc.inotify_init1(0)
for mask in (0x20, 0x1, 0x10, 0xFFF, 0x20 | 0x2):
    if libc.inotify_add_watch(watch, b"/usr/bin", mask) >= 0:
        escaped(f"/usr/bin is watched with mask {mask:#x}")
held(errno.errorcode[ctypes.get_errno()])
