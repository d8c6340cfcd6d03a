# Starts more threads than allowed processes.
# options: --processes 16
from escape import *
import threading, time
stop = threading.Event()
threads = [threading.Thread(target=stop.wait, daemon=True) for _ in range(64)]
for thread in threads:
    thread.start()
escaped("64 threads ran at once")
