# Leaves a program that runs with the rights of the user: chmod.
from escape import *
with open("program", "w") as f:
    f.write("#!/bin/sh\n")
os.chmod("program", 0o4755)
print("set")
