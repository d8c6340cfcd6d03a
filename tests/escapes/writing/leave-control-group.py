# Moves itself out of the control group that holds its limits.
# control: root-only
from escape import *
import glob
for file in glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:50]:
    try:
        os.open(file, os.O_WRONLY)
        escaped(f"{file} is open for writing")
    except OSError:
        pass
held("no group to go to")
