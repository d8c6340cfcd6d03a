# Takes on other groups.
# control: root-only
from escape import *
os.setgroups([0, 4, 6])
escaped(f"its groups are {os.getgroups()}")
