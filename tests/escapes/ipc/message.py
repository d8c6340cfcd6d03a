# Takes a System V message of the outside.
# needs: outside
from escape import *
buffer = ctypes.create_string_buffer(256)
if libc.msgrcv(int(E["OUTSIDE_MSG"]), buffer, 200, 0, 0o4000) < 0:
    held(os.strerror(ctypes.get_errno()))
token_in(buffer.raw, "a message")
