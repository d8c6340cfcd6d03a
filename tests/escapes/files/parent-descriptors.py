# Opens again, through /proc, what whoever started this has open.
from escape import *
where = f"/proc/{os.getppid()}/fd"
for fd in os.listdir(where):
    try:
        if os.path.isfile(f"{where}/{fd}"):
            text = open(f"{where}/{fd}", "rb").read(4096)
            if b"token-" in text:
                token_in(text, "the parent's descriptor")
    except OSError:
        pass
held("nothing of the parent's could be opened")
