# Attaches to whoever started this as a debugger.
from escape import *
pid = os.getppid()
result = syscall(101, 0x4206, pid, 0, 0)  # PTRACE_SEIZE
if result < 0:
    held(name(result))
syscall(101, 17, pid, 0, 0)
escaped("attached to the parent")
