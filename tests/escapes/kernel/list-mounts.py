# Lists the mounts of a namespace by their numbers (listmount).
# control: needs listmount
from escape import *
reached("list-mounts", syscall(458, struct.pack('I4xQQ', 24, 0xFFFFFFFFFFFFFFFF, 0), ctypes.create_string_buffer(800), 100, 0))
