# Reads and sets the limits of a process outside.
# needs: outside
from escape import *
import resource
escaped(f"its limits are {resource.prlimit(int(E['OUTSIDE_VICTIM']), resource.RLIMIT_NOFILE)}")
