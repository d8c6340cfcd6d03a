# Fills /tmp with files that have nothing in them.
# options: --tmp 1M
from escape import *
import shutil
base = f"/tmp/{E['OUTSIDE_NAME']}"
os.mkdir(base)
try:
    for number in range(8000):
        os.close(os.open(f"{base}/{number}", os.O_CREAT | os.O_WRONLY, 0o600))
finally:
    shutil.rmtree(base, ignore_errors=True)
escaped("8000 files lay in /tmp")
