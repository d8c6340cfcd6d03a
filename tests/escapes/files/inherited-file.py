# Reads what was left open by whoever started metier.
from escape import *
for fd in range(3, 1024):
    try:
        text = os.pread(fd, 4096, 0)
    except OSError:
        continue
    if b"token-" in text:
        token_in(text, f"descriptor {fd}")
held("nothing left open")
