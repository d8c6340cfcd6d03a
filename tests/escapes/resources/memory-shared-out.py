# Takes more memory than allowed, in many processes that each take little.
# options: --memory 96M
from escape import *
import time
children = []
for _ in range(8):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        block = bytearray(48 << 20)
        for at in range(0, len(block), 4096):
            block[at] = 1
        os.write(w, b"y")
        time.sleep(3)
        os._exit(0)
    os.close(w)
    children.append((pid, r))
ready = sum(os.read(r, 1) == b"y" for _, r in children)
time.sleep(1)
alive = 0
for pid, _ in children:
    alive += os.waitpid(pid, os.WNOHANG)[0] == 0
if ready == alive == 8:
    escaped("8 processes hold 384 MiB")
held(f"{ready} of 8 came so far, {alive} stayed")
