# Opens the memory of whoever started this for writing.
from escape import *
os.open(f"/proc/{os.getppid()}/mem", os.O_WRONLY)
escaped("the parent's memory is open for writing")
