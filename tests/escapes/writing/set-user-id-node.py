# The same when the file is made: mknod of an ordinary file.
from escape import *
import stat
os.umask(0)
os.mknod("program", stat.S_IFREG | 0o4755)
print("made")
