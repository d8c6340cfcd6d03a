# Learns which servers run on the machine.
# needs: outside
from escape import *
wanted = f":{int(E['OUTSIDE_TCP4']):04X} "
if wanted in open("/proc/net/tcp").read():
    escaped("the server outside was seen")
held("no such server")
