# Chooses the number of the next process, to pose as another.
# control: root-only
from escape import *
os.open("/proc/sys/kernel/ns_last_pid", os.O_WRONLY)
escaped("ns_last_pid is open for writing")
