# Stays behind after its end, in a session of its own.
from escape import *
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        import time
        time.sleep(8)
    os._exit(0)
os.wait()
print("left")
