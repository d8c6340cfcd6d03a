# Sets the program that the kernel starts when a device appears.
# control: needs /sys/kernel/uevent_helper
from escape import *
os.open("/sys/kernel/uevent_helper", os.O_WRONLY)
escaped("uevent_helper is open for writing")
