# Runs longer than allowed, deaf to every signal.
# options: --wall 1
from escape import *
import signal, time
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
time.sleep(4)
escaped("it ran for 4 seconds")
