# Opens a file system to be mounted (fsopen).
# control: root-only
from escape import *
reached("open-file-system", syscall(430, cstr('tmpfs'), 0))
