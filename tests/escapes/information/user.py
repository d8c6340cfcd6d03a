# Learns the name of the user.
from escape import *
for name_ in ("USER", "LOGNAME", "SUDO_USER", "MAIL"):
    if "outside-user" in E.get(name_, ""):
        escaped(f"{name_} tells it")
held("no name")
