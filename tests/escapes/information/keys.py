# Learns which keys the user has.
# needs: outside
from escape import *
if E["OUTSIDE_KEY_NAME"] in open("/proc/keys").read():
    escaped("the key outside was seen")
held("no such key")
