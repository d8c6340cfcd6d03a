# Sets the times of git's settings.
from escape import *
os.utime(".git/config", (1, 1))
print("changed")
