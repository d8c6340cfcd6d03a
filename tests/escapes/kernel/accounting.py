# Has every process of the machine written down (acct).
# control: root-only
from escape import *
reached("accounting", syscall(163, cstr('/nonexistent')))
