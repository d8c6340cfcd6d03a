# Looks for device nodes beyond the harmless ones.
from escape import *
import stat
harmless = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2)}
for place, _, files in os.walk("/dev"):
    if place.startswith("/dev/pts"):
        continue
    for file in files:
        s = os.lstat(os.path.join(place, file))
        numbers = os.major(s.st_rdev), os.minor(s.st_rdev)
        if stat.S_ISBLK(s.st_mode) or stat.S_ISCHR(s.st_mode) and numbers not in harmless:
            escaped(f"{place}/{file} is device {numbers}")
held("only harmless devices")
