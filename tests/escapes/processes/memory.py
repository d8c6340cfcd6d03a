# Reads the memory of a process outside.
# needs: outside
from escape import *
pid = E["OUTSIDE_VICTIM"]
stack = next(line for line in open(f"/proc/{pid}/maps") if "[stack]" in line)
low, high = (int(x, 16) for x in stack.split()[0].split("-"))
with open(f"/proc/{pid}/mem", "rb") as memory:
    memory.seek(low)
    token_in(memory.read(high - low), "the memory of a process outside")
