# Looks for terminals outside.
# needs: terminal
from escape import *
if any(n.isdigit() for n in os.listdir("/dev/pts")):
    escaped("/dev/pts shows the terminals outside")
held("no terminals")
