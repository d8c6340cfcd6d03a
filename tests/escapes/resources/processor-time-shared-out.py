# Uses more processor time than allowed, in processes that each use little.
# options: --cpu 1 --wall 9
from escape import *
import time
for _ in range(5):
    if os.fork() == 0:
        while time.process_time() < 0.7:
            pass
        os._exit(0)
    os.wait()
escaped("3.5 seconds of the processor were used")
