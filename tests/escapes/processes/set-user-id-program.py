# Runs a program that came with the skill and runs as its owner, who is another user.
# control: needs a root to plant it
# needs: set-user-id
from escape import *
import subprocess
shown = subprocess.run([E["OUTSIDE_SKILL"] + "/scripts/set-user-id"], capture_output=True, text=True).stdout
if "euid=" in shown:
    escaped(f"it ran as another: {shown.strip()}")
held(f"it ran as the same: {shown.strip()}")
