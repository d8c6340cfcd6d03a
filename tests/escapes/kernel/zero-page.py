# Maps the page at address zero, which turns null pointers of the kernel into something.
# control: root-only
from escape import *
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
at = libc.mmap(None, 4096, 3, 0x32, -1, 0)
if at == ctypes.c_void_p(-1).value:
    held(os.strerror(ctypes.get_errno()))
escaped("page zero is mapped")
