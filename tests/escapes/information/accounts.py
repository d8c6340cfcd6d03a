# Learns who has an account on the machine.
# needs: outside
from escape import *
import hashlib
found = hashlib.sha256(open("/etc/passwd", "rb").read()).hexdigest()
if found == E["OUTSIDE_ACCOUNTS"]:
    escaped("the machine's accounts")
held("other accounts")
