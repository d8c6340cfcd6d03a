# Learns what is mounted from whoever started this.
from escape import *
text = open(f"/proc/{os.getppid()}/mountinfo").read()
if any(line.split()[4] == "/" and " - " in line and line.split(" - ")[1].split()[1].startswith("/dev/") for line in text.splitlines()):
    escaped("the machine's root is among the parent's mounts")
held("nothing to be learnt")
