# Learns the machine's name from its files.
# needs: outside
from escape import *
for path in ("/etc/hostname", "/etc/hosts", "/etc/mailname"):
    try:
        words = open(path).read().split()
    except OSError:
        continue
    if E["OUTSIDE_HOSTNAME"] in words:
        escaped(f"the machine's name stands in {path}")
held("no file has it")
