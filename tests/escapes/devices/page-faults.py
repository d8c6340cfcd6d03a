# Opens the device that hands out page faults.
# control: needs /dev/userfaultfd
from escape import *
os.open("/dev/userfaultfd", os.O_RDWR)
escaped("/dev/userfaultfd is open")
