# The same when the file is made: open.
from escape import *
os.umask(0)
os.open("program", os.O_CREAT | os.O_WRONLY, 0o4755)
print("made")
