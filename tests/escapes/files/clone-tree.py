# Takes a copy of the mount tree that belongs to no namespace, and climbs from it.
# control: root-only
from escape import *
tree = syscall(428, -100, cstr("/"), 1 | 0x8000)
if tree < 0:
    held(name(tree))
token_in(os.read(os.open(E["OUTSIDE_SECRET"][1:], os.O_RDONLY, dir_fd=tree), 4096), "a cloned tree")
