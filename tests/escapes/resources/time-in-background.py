# Ends at once, but leaves a child that holds the output open, so that metier waits for it.
# options: --wall 2
from escape import *
import time
if os.fork() == 0:
    time.sleep(6)
    escaped("the child wrote after 6 seconds")
print("ended")
