# Looks whether its process numbers are those of the machine.
# needs: outside
from escape import *
try:
    words = open(f"/proc/{E['OUTSIDE_VICTIM']}/cmdline", "rb").read().split(b"\0")
except OSError as e:
    held(e)
if words[:2] == [b"/usr/bin/sleep", b"60"]:
    escaped("the process outside is there")
held("that is another process")
