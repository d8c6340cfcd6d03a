# Sets an extended attribute on git's settings.
# control: needs extended attributes
from escape import *
os.setxattr(".git/config", "user.owned", b"1")
escaped("an attribute was set")
