# Reads a file outside by its absolute path.
from escape import *
token_in(open(E["OUTSIDE_SECRET"]).read(), "the secret file")
