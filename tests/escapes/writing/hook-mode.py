# Makes a file among the hooks executable.
from escape import *
os.chmod(".git/hooks/sample", 0o755)
print("changed")
