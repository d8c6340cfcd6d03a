# Opens the control of the automounter, which anybody may do.
# control: needs /dev/autofs
from escape import *
os.open("/dev/autofs", os.O_RDONLY)
escaped("/dev/autofs is open")
