# Cuts git's settings to nothing.
from escape import *
os.truncate(".git/config", 0)
print("cut")
