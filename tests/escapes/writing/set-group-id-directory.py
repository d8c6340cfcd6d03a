# Leaves a directory that hands its group on.
from escape import *
os.mkdir("shared")
os.chmod("shared", 0o2777)
print("set")
