# Joins a keyring of its own (keyctl).
from escape import *
reached("new-keyring", syscall(250, 1, None, 0, 0, 0))
