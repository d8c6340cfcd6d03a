# Goes before all others, in real time.
# control: root-only
from escape import *
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
escaped("it runs in real time")
