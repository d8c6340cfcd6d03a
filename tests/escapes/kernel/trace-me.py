# Lets itself be traced.
from escape import *
reached("trace-me", syscall(101, 0, 0, 0, 0))
