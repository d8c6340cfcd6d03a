# Leaves something in the /tmp of the machine.
from escape import *
path = "/tmp/" + E["OUTSIDE_NAME"] + "-left"
open(path, "w").close()
print("left")
