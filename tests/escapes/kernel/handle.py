# Asks for the handle of a file, a first step to opening files without a path.
from escape import *
reached("handle", syscall(303, -100, cstr('/usr'), ctypes.create_string_buffer(136), ctypes.byref(ctypes.c_int()), 0))
