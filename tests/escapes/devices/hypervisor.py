# Opens the line to the hypervisor.
# control: needs /dev/vsock
from escape import *
os.open("/dev/vsock", os.O_RDONLY)
escaped("/dev/vsock is open")
