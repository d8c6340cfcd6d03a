# Goes before all others.
# control: root-only
from escape import *
os.setpriority(os.PRIO_PROCESS, 0, -10)
escaped("its priority was raised")
