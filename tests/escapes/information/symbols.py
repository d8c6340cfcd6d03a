# Learns where the kernel's functions lie.
# control: root-only
from escape import *
for line in open("/proc/kallsyms"):
    if int(line.split()[0], 16):
        escaped("addresses of the kernel")
    break
held("no addresses")
