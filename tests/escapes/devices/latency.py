# Keeps the processor from sleeping, for the whole machine.
# control: root-only
from escape import *
os.open("/dev/cpu_dma_latency", os.O_RDONLY)
escaped("/dev/cpu_dma_latency is open")
