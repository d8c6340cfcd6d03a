# Goes through the working directory of a process outside.
# needs: outside
from escape import *
token_in(open(f"/proc/{E['OUTSIDE_VICTIM']}/cwd/secret.txt").read(), "the directory of a process outside")
