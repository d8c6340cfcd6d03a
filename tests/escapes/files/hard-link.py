# Links a file outside into the work directory.
from escape import *
os.link(E["OUTSIDE_SECRET"], "hard")
token_in(open("hard").read(), "a hard link")
