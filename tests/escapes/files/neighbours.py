# Lists what lies beside the work directory.
from escape import *
found = set(os.listdir(E["OUTSIDE_DIRECTORY"])) & {"secret.txt", "home", "outside"}
if found:
    escaped(f"beside the work directory lie {sorted(found)}")
held("nothing beside it")
