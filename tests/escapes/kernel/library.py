# Loads a library the old way (uselib), through the 32-bit entry.
# control: needs uselib
from escape import *
reached("library", syscall32(86, 0))
