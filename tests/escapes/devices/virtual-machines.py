# Opens the door to virtual machines.
# control: root-only
from escape import *
os.open("/dev/kvm", os.O_RDWR)
escaped("/dev/kvm is open")
