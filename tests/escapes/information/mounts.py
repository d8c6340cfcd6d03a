# Learns what is mounted on the machine.
from escape import *
for line in open("/proc/self/mountinfo"):
    fields = line.split()
    kind, source = line.split(" - ")[1].split()[:2]
    if fields[4] == "/" and fields[3] == "/" and source.startswith("/dev/"):
        escaped("the machine's root is among the mounts")
    if fields[4].startswith(("/sys/fs/cgroup", "/mnt/", "/media/", "/boot")):
        escaped(f"{fields[4]} is among the mounts")
held("only its own mounts")
