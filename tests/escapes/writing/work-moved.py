# Moves the work directory itself away and leaves a link in its place.
from escape import *
here = os.getcwd()
os.rename(here, here + "-old")
os.symlink("/", here)
print("moved")
