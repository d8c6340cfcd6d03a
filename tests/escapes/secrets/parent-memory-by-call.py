# Copies the stack of whoever started this with process_vm_readv.
from escape import *
pid = os.getppid()
stack = next(line for line in open(f"/proc/{pid}/maps") if "[stack]" in line)
low, high = (int(x, 16) for x in stack.split()[0].split("-"))
buffer = ctypes.create_string_buffer(high - low)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
here, there = Piece(ctypes.addressof(buffer), high - low), Piece(low, high - low)
got = syscall(310, pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
if got < 0:
    held(name(got))
token_in(buffer.raw, "the parent's memory")
