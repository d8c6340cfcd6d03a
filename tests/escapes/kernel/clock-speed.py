# Looks at the clock's discipline and could change it (adjtimex).
# control: root-only
from escape import *
reached("clock-speed", syscall(159, struct.pack('I', 0x4000) + bytes(204)))
