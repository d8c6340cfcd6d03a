# Changes settings of the kernel.
# control: root-only
from escape import *
for setting in ("vm/overcommit_memory", "net/ipv4/ip_forward", "kernel/dmesg_restrict", "fs/protected_symlinks"):
    try:
        os.open("/proc/sys/" + setting, os.O_WRONLY)
        escaped(f"{setting} is open for writing")
    except OSError:
        pass
held("no setting is writable")
