# Opens the list of accounts for writing.
# control: root-only
from escape import *
os.open("/etc/passwd", os.O_WRONLY | os.O_APPEND)
escaped("/etc/passwd is open for writing")
