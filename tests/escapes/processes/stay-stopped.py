# Stays behind stopped, until somebody wakes it.
from escape import *
import signal
if os.fork() == 0:
    os.setsid()
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
import time
time.sleep(0.1)
print("left")
