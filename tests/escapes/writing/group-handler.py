# Sets the program that the kernel starts when a control group is empty.
# control: needs control groups of version 1
from escape import *
import glob
for file in glob.glob("/sys/fs/cgroup/*/release_agent") + glob.glob("/sys/fs/cgroup/release_agent"):
    os.open(file, os.O_WRONLY)
    escaped(f"{file} is open for writing")
held("no release_agent")
