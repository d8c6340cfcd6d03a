# Looks for what the machine keeps: logs, packages, spools, mounts.
from escape import *
for place in ("/var/log", "/var/lib", "/var/cache", "/var/spool", "/var/mail", "/run", "/mnt", "/media", "/srv", "/home"):
    if os.path.isdir(place) and os.listdir(place):
        escaped(f"{place} can be listed")
held("nothing there")
