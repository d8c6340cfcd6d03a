# Learns what whoever started this waits for and how it stands.
from escape import *
for file in ("stack", "syscall", "wchan", "auxv", "io", "personality"):
    try:
        if open(f"/proc/{os.getppid()}/{file}", "rb").read(8) not in (b"", b"0"):
            escaped(f"the parent's {file}")
    except OSError:
        pass
held("nothing")
