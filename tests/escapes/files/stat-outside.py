# Asks for the size of a file outside, without opening it.
from escape import *
escaped(f"the secret has {os.stat(E['OUTSIDE_SECRET']).st_size} bytes")
