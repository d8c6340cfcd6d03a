# Takes room for swapping away.
# control: root-only
from escape import *
reached("swap-off", syscall(168, None))
