# Reads where in the machine's memory its own pages lie.
# control: root-only
from escape import *
block = ctypes.create_string_buffer(b"x" * 8192)
with open("/proc/self/pagemap", "rb") as f:
    f.seek(ctypes.addressof(block) // 4096 * 8)
    frame = struct.unpack("Q", f.read(8))[0] & ((1 << 55) - 1)
if frame:
    escaped("a page's place in memory is known")
held("the places are hidden")
