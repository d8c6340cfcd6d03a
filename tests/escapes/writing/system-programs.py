# Adds a program to those of the system.
# control: root-only
from escape import *
path = "/usr/local/" + E["OUTSIDE_NAME"]
os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
os.unlink(path)
escaped("/usr can be written to")
