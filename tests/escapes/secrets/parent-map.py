# Reads the layout of the memory of whoever started this, which undoes its randomness.
from escape import *
text = open(f"/proc/{os.getppid()}/maps").read()
if "-" in text:
    escaped(f"{len(text.splitlines())} lines of the parent's map")
held("an empty map")
