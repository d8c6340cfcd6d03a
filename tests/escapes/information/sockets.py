# Learns which sockets there are by name.
# needs: outside
from escape import *
text = open("/proc/net/unix").read()
if E["OUTSIDE_ABSTRACT"] in text or E["OUTSIDE_UNIX"] in text:
    escaped("the sockets outside were seen")
held("no such socket")
