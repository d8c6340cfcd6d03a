# Writes into /dev, where programs look for devices.
# control: root-only
from escape import *
path = "/dev/" + E["OUTSIDE_NAME"]
os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
os.unlink(path)
escaped("/dev can be written to")
