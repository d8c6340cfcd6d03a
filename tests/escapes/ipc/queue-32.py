# The same through the 32-bit entry.
# needs: outside
# control: needs POSIX queues
from escape import *
queue = syscall32(277, low_bytes(E["OUTSIDE_MQ"].encode() + b"\0"), os.O_RDWR | os.O_NONBLOCK, 0, 0)
if queue < 0:
    held(name(queue))
buffer = low_memory()
got = syscall32(280, queue, buffer, 256, 0, 0)
if got < 0:
    held(name(got))
token_in(ctypes.string_at(buffer, 256), "a queue")
