# The same when the skill was allowed one host by way of a proxy, without asking the proxy.
# needs: outside
# options: --network proxy --allow-host example.invalid:443
from escape import *
import socket
socket.create_connection(("127.0.0.1", int(E["OUTSIDE_TCP4"])), 2)
print("connected")
