# Lists the home of root.
# control: root-only
from escape import *
if os.listdir("/root"):
    escaped("/root can be listed")
held("/root is empty")
