# Makes whoever started this the first process to be killed when memory runs out.
from escape import *
path = f"/proc/{os.getppid()}/oom_score_adj"
before = open(path).read()
with open(path, "w") as f:
    f.write("1000")
with open(path, "w") as f:
    f.write(before)
escaped("the parent's score was changed")
