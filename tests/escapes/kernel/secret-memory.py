# Takes memory that even the kernel does not see (memfd_secret).
# control: needs memfd_secret
from escape import *
reached("secret-memory", syscall(447, 0))
