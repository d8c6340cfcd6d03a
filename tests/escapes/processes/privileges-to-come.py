# Looks whether a program could still gain privileges when it starts.
from escape import *
if "NoNewPrivs:\t0" in open("/proc/self/status").read():
    escaped("no_new_privs is not set")
held("no_new_privs is set")
