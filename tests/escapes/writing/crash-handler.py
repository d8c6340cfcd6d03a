# Sets the program that the kernel starts when another crashes.
# control: root-only
from escape import *
os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)
escaped("core_pattern is open for writing")
