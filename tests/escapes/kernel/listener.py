# Puts a filter on itself that asks another process about every call (seccomp's listener).
from escape import *
syscall(157, 38, 1, 0, 0, 0)
program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
filter_ = struct.pack("HxxxxxxQ", 1, ctypes.addressof(program))
reached("seccomp", syscall(317, 1, 8, filter_))
