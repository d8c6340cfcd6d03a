# Makes itself the last process to be killed when memory runs out.
# control: needs CAP_SYS_RESOURCE
from escape import *
with open("/proc/self/oom_score_adj", "w") as f:
    f.write("-1000")
escaped("the kernel will kill others first")
