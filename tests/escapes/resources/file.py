# Writes a file larger than allowed.
# options: --file 1M
from escape import *
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open("large", "wb") as f:
    f.write(bytes(8 << 20))
escaped("a file of 8 MiB was written")
