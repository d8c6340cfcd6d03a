# Makes a hook elsewhere and links it to its place.
from escape import *
with open("harmless", "w") as f:
    f.write("#!/bin/sh\n")
os.link("harmless", ".git/hooks/post-merge")
print("linked")
