# Reads the table of segments, which could be written as well (modify_ldt).
from escape import *
reached("segments", syscall(154, 0, ctypes.create_string_buffer(64), 64))
