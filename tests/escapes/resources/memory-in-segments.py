# Takes more memory than allowed, in System V segments that no process has attached.
# options: --memory 96M
from escape import *
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]
made = []
try:
    for _ in range(24):
        segment = libc.shmget(0, 16 << 20, 0o1600)
        if segment < 0:
            raise OSError(ctypes.get_errno(), "shmget")
        made.append(segment)
        at = libc.shmat(segment, None, 0)
        if at in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "shmat")
        ctypes.memset(at, 1, 16 << 20)
        libc.shmdt(at)
    import time
    time.sleep(1)
finally:
    for segment in made:
        libc.shmctl(segment, 0, None)
escaped("384 MiB are in use")
