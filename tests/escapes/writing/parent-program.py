# Gets at the program file of whoever started this, to replace what runs next time (runc's hole).
from escape import *
path = f"/proc/{os.getppid()}/exe"
os.close(os.open(path, os.O_RDONLY))
if os.access(path, os.W_OK):
    escaped("the parent's program could be overwritten")
held("the parent's program is not writable")
