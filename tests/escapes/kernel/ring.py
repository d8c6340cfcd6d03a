# Makes a ring of requests (io_uring).
from escape import *
reached("ring", syscall(425, 4, ctypes.create_string_buffer(120)))
