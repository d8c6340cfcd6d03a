# Asks for the path of a cookie (lookup_dcookie), a call that is gone from newer kernels.
# control: needs lookup_dcookie
from escape import *
reached("cookie", syscall(212, 0, None, 0))
