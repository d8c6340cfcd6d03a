# Takes a message from a POSIX queue of the outside.
# needs: outside
# control: needs POSIX queues
from escape import *
queue = syscall(240, cstr(E["OUTSIDE_MQ"]), os.O_RDWR | os.O_NONBLOCK, 0, None)
if queue < 0:
    held(name(queue))
buffer = ctypes.create_string_buffer(256)
got = syscall(243, queue, buffer, 256, None, None)
if got < 0:
    held(name(got))
token_in(buffer.raw, "a queue")
