# Starts from a directory that was left open by whoever started metier.
from escape import *
for fd in range(3, 1024):
    try:
        token_in(os.read(os.open("secret.txt", os.O_RDONLY, dir_fd=fd), 4096), f"directory {fd}")
    except OSError:
        pass
held("no directory left open")
