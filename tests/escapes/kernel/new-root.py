# Changes the root of its namespace (pivot_root).
# control: root-only
from escape import *
reached("new-root", syscall(155, cstr('/nonexistent'), cstr('/nonexistent')))
