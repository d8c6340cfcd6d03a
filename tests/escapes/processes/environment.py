# Reads the environment of a process outside.
# needs: outside
from escape import *
token_in(open(f"/proc/{E['OUTSIDE_VICTIM']}/environ").read(), "the environment of a process outside")
