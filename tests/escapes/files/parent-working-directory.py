# Goes through the working directory of whoever started this, in /proc.
from escape import *
token_in(open(f"/proc/{os.getppid()}/cwd/../secret.txt").read(), "the parent's directory")
