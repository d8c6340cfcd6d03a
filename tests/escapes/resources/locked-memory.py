# Keeps memory from being given to others.
# control: root-only
from escape import *
block = mmap.mmap(-1, 64 << 20)
libc.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
if libc.mlock(ctypes.addressof(ctypes.c_char.from_buffer(block)), 64 << 20):
    held(os.strerror(ctypes.get_errno()))
escaped("64 MiB are locked")
