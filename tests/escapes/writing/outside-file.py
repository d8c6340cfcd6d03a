# Appends to a file outside.
from escape import *
with open(E["OUTSIDE_DIRECTORY"] + "/outside/file", "a") as f:
    f.write("overwritten\n")
print("written")
