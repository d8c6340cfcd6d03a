# Renames the machine's domain, but for the pointer.
# control: root-only
from escape import *
reached("domain-name", syscall(171, 1, 5))
