# Talks to the agent that holds the user's keys.
# needs: outside
from escape import *
import socket
s = socket.socket(socket.AF_UNIX)
s.connect(E.get("SSH_AUTH_SOCK") or E["OUTSIDE_UNIX"])
s.send(b"\0\0\0\1\x0b")
escaped("the agent answers")
