# Searches the memory of whoever started this, through /proc.
from escape import *
pid = os.getppid()
with open(f"/proc/{pid}/mem", "rb") as memory:
    for line in open(f"/proc/{pid}/maps"):
        if "[stack]" in line or "[heap]" in line:
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            memory.seek(low)
            text = memory.read(high - low)
            if b"token-" in text:
                token_in(text, "the parent's memory")
held("not in the parent's memory")
