# Changes its own program text, through the descriptor by which it is read.
from escape import *
fd = os.open(__file__, os.O_RDONLY)
with open(f"/proc/self/fd/{fd}", "a") as f:
    f.write("# owned\n")
print("written")
