# Fills /tmp.
# options: --tmp 1M
from escape import *
path = f"/tmp/{E['OUTSIDE_NAME']}"
try:
    with open(path, "wb") as f:
        f.write(bytes(8 << 20))
finally:
    os.unlink(path)
escaped("8 MiB lay in /tmp")
