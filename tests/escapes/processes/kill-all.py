# Kills everything that it may.
# control: unsafe, it would end every process of the user
# needs: outside
from escape import *
import signal
# Whoever can be seen would die with the rest, so that is enough to know.
try:
    os.kill(int(E["OUTSIDE_VICTIM"]), 0)
    escaped("the process outside could be killed")
except ProcessLookupError:
    pass
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(-1, 15)
os.kill(-1, 9)
print("killed")
