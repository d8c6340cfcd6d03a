# Learns about the desktop and the connection the user came by.
from escape import *
for name_ in ("SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"):
    if E.get(name_):
        escaped(f"{name_} is set")
held("nothing is set")
