# Asks for the capabilities back.
# control: root-only
from escape import *
header = struct.pack("Ii", 0x20080522, 0)
wanted = struct.pack("6I", 0x200000, 0x200000, 0, 0, 0, 0)
result = syscall(126, header, wanted)
if result < 0:
    held(name(result))
escaped("it has CAP_SYS_ADMIN")
