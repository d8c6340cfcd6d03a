# Learns the machine's identity.
# control: needs a machine-id
from escape import *
for path in ("/etc/machine-id", "/var/lib/dbus/machine-id", "/sys/class/dmi/id/product_uuid"):
    try:
        if open(path).read().strip():
            escaped(path)
    except OSError:
        pass
held("no identity")
