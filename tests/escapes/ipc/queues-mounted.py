# Mounts the file system of the queues, to see those of the outside.
# needs: outside
# control: root-only
from escape import *
os.mkdir("q")
if libc.unshare(0x20000) or libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None):
    held("no mount namespace")
if libc.mount(b"none", b"q", b"mqueue", 0, None):
    held("not mounted")
if E["OUTSIDE_MQ"] in os.listdir("q"):
    escaped("the queue outside was listed")
held("not listed")
