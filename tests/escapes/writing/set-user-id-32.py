# The same through the 32-bit entry: chmod, creat and mknod.
from escape import *
os.umask(0)
os.close(os.open("program", os.O_CREAT | os.O_WRONLY, 0o755))
results = [syscall32(15, low_bytes(b"program\0"), 0o4755), syscall32(8, low_bytes(b"p2\0"), 0o4755)]
results.append(syscall32(14, low_bytes(b"p3\0"), 0o104755, 0))
print("made:", [name(r) for r in results])
