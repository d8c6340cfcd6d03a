# Goes through the root directory of whoever started this, in /proc.
from escape import *
token_in(open(f"/proc/{os.getppid()}/root" + E["OUTSIDE_SECRET"]).read(), "the parent's root")
