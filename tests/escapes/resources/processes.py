# Starts more processes than allowed, as a fork bomb would.
# options: --processes 16
from escape import *
import time
children = []
try:
    for _ in range(64):
        pid = os.fork()
        if pid == 0:
            time.sleep(3)
            os._exit(0)
        children.append(pid)
finally:
    for pid in children:
        os.kill(pid, 9)
escaped("64 processes ran at once")
