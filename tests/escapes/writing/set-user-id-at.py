# The same with the newer call fchmodat2, which old filters do not know.
from escape import *
fd = os.open("program", os.O_CREAT | os.O_WRONLY, 0o755)
result = syscall(452, -100, cstr("program"), 0o4755, 0)
print("set:", name(result))
