# Opens the file by which the machine is restarted.
# control: needs /proc/sysrq-trigger
from escape import *
os.open("/proc/sysrq-trigger", os.O_WRONLY)
escaped("sysrq-trigger is open for writing")
