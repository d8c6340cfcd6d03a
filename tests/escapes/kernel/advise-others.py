# Gives advice about the memory of another process (process_madvise).
from escape import *
reached("advise-others", syscall(440, -1, None, 0, 4, 0))
