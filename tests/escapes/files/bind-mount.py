# Mounts the root into the work directory, in namespaces of its own.
from escape import *
os.mkdir("m")
if libc.unshare(0x10000000 | 0x20000):
    held("no namespaces")
if libc.mount(b"/", b"m", None, 0x1000 | 0x4000, None):
    held("no mount")
token_in(open("m" + E["OUTSIDE_SECRET"]).read(), "a bind mount")
