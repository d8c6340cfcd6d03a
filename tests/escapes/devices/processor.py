# Opens the registers of the processor.
# control: needs /dev/cpu/0/msr
from escape import *
os.open("/dev/cpu/0/msr", os.O_RDONLY)
escaped("the registers are open")
