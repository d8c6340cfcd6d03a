# Uses more processor time than allowed, deaf to the warning.
# options: --cpu 1 --wall 9
from escape import *
import signal, time
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while time.process_time() < 3:
    pass
escaped("3 seconds of the processor were used")
