# Makes a link to the root of everything and goes through it.
from escape import *
os.symlink("/proc/self/root", "root")
token_in(open("root" + E["OUTSIDE_SECRET"]).read(), "a link to the root")
