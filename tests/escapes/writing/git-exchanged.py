# Exchanges .git with a directory of its own, in one step.
from escape import *
os.makedirs("mine/hooks")
result = syscall(316, -100, cstr("mine"), -100, cstr(".git"), 2)
if result < 0:
    held(name(result))
print("exchanged")
