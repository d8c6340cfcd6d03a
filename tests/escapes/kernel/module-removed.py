# Removes a module from the kernel.
# control: needs modules
from escape import *
reached("module-removed", syscall(176, cstr('no-such-module'), 0o4000))
