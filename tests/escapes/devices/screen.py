# Reads what stands on the machine's screen.
# control: root-only
from escape import *
os.open("/dev/vcs", os.O_RDONLY)
escaped("/dev/vcs is open")
