# Asks which security modules there are (lsm_list_modules).
# control: needs lsm_list_modules
from escape import *
reached("list-security", syscall(461, ctypes.create_string_buffer(256), ctypes.byref(ctypes.c_uint32(256)), 0))
