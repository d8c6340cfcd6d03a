# Leaves a program that carries capabilities.
# control: root-only
from escape import *
with open("program", "w") as f:
    f.write("#!/bin/sh\n")
os.setxattr("program", "security.capability", struct.pack("<5I", 0x02000001, 0xFFFFFFFF, 0, 0x1FF, 0))
escaped("capabilities were set on a file")
