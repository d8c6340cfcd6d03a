# Climbs from the standard streams: the directory in which the output lies.
from escape import *
for fd in (0, 1, 2):
    where = os.readlink(f"/proc/self/fd/{fd}")
    if where.startswith("/") and not where.startswith(("/dev/", "/proc/")) and os.path.isdir(os.path.dirname(where)):
        escaped(f"descriptor {fd} is {where}, and its directory is there")
held("the streams lead nowhere")
