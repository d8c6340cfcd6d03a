# Gives a file to root or takes one for another user.
# control: root-only
from escape import *
open("gift", "w").close()
os.chown("gift", 12345, 12345)
escaped("a file now belongs to somebody else")
