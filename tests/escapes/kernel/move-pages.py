# Moves memory between nodes of the machine (migrate_pages).
from escape import *
reached("move-pages", syscall(256, 0, 64, None, None))
