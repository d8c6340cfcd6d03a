# Looks for a limit that was not set.
from escape import *
import resource
kinds = {"files": resource.RLIMIT_FSIZE, "time": resource.RLIMIT_CPU, "core files": resource.RLIMIT_CORE}
for what, which in kinds.items():
    if resource.getrlimit(which)[1] == resource.RLIM_INFINITY:
        escaped(f"no limit on {what}")
held("all are limited")
