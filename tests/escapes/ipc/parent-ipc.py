# Enters the namespace of whoever started this for shared memory and queues.
# control: root-only
# needs: outside
from escape import *
if libc.setns(os.open(f"/proc/{os.getppid()}/ns/ipc", os.O_RDONLY), 0x08000000):
    held(os.strerror(ctypes.get_errno()))
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(int(E["OUTSIDE_SHM"]), None, 0o10000)
if at in (None, ctypes.c_void_p(-1).value):
    held(os.strerror(ctypes.get_errno()))
token_in(ctypes.string_at(at, 64), "shared memory")
