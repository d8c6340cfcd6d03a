# Stays behind deaf to every signal, with nothing that names it.
from escape import *
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
if os.fork() == 0:
    os.setsid()
    syscall(157, 1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.fork() == 0:
        for fd in range(64):
            try:
                os.close(fd)
            except OSError:
                pass
        time.sleep(8)
    os._exit(0)
os.wait()
print("left")
