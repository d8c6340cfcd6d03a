# Raises its own limits.
# control: needs CAP_SYS_RESOURCE
from escape import *
import resource
for which in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE):
    soft, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        try:
            resource.setrlimit(which, (soft, hard + 1))
            escaped(f"limit {which} was raised")
        except (OSError, ValueError):
            pass
held("no limit was raised")
