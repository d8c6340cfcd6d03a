# Opens the memory of the kernel.
# control: needs /proc/kcore
from escape import *
os.open("/proc/kcore", os.O_RDONLY)
escaped("/proc/kcore is open")
