# Looks for a place to write to that no limit covers.
# options: --tmp 1M --file 16M
from escape import *
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
allowed = ("/tmp", "/dev/shm", "/var/tmp", os.getcwd(), "/proc", "/sys")
places = ["/", "/dev", "/dev/mqueue", "/run", "/var", "/home", "/root", "/mnt", "/opt", "/srv", "/etc", "/usr"]
places.append(os.path.dirname(os.getcwd()))
for place in places:
    path = os.path.join(place, E["OUTSIDE_NAME"] + "-place")
    try:
        with open(path, "wb") as f:
            f.write(bytes(8 << 20))
        os.unlink(path)
        escaped(f"8 MiB could be written to {place}")
    except OSError:
        pass
held("no other place")
