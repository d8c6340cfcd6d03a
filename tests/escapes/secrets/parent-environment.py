# Reads the environment of whoever started this.
from escape import *
token_in(open(f"/proc/{os.getppid()}/environ").read(), "the parent's environment")
