# Takes more memory than allowed, in pipes that nobody reads.
# options: --memory 32M --processes 64
from escape import *
held_open = []
total = 0
import fcntl
for _ in range(200):
    r, w = os.pipe()
    held_open.append((r, w))
    try:
        fcntl.fcntl(w, 1031, 1 << 20)
    except OSError:
        pass
    os.set_blocking(w, False)
    try:
        while True:
            total += os.write(w, bytes(65536))
    except BlockingIOError:
        pass
if total > 24 << 20:
    escaped(f"{total >> 20} MiB lie in pipes")
held(f"only {total >> 20} MiB lie in pipes")
