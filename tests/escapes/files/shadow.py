# Opens the passwords of the machine.
# control: root-only
from escape import *
os.open("/etc/shadow", os.O_RDONLY)
escaped("/etc/shadow is open")
