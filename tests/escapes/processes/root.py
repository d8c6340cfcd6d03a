# Looks whether it is root, or can become so.
# control: root-only
from escape import *
if os.getuid() == 0 or os.geteuid() == 0:
    escaped("it is root")
os.setresuid(0, 0, 0)
escaped("it became root")
