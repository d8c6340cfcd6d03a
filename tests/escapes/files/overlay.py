# Puts an overlay over a directory of its own, whose lower half shows what is outside.
# control: needs overlay
from escape import *
os.mkdir("all")
if libc.unshare(0x10000000 | 0x20000):
    held("no namespaces")
lower = os.path.dirname(E["OUTSIDE_SECRET"]).encode()
if libc.mount(b"overlay", b"all", b"overlay", 0, b"lowerdir=" + lower + b":/usr/share"):
    held(os.strerror(ctypes.get_errno()))
token_in(open("all/secret.txt").read(), "an overlay")
