# Fills /dev/shm.
# options: --memory 96M --tmp 1M --file 8M
from escape import *
made = []
try:
    for number in range(24):
        path = f"/dev/shm/{E['OUTSIDE_NAME']}-{number}"
        made.append(path)
        with open(path, "wb") as f:
            f.write(bytes(6 << 20))
finally:
    for path in made:
        if os.path.exists(path):
            os.unlink(path)
escaped("144 MiB lay in /dev/shm")
