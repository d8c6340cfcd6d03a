# The world outside: what attempts try to reach. Runs as the user who starts metier, until told to report.
# Arguments: DIRECTORY TOKEN. Prints its addresses as JSON, waits for a line, prints what was done to it, and goes.
# With `clean` and those addresses, it removes what one that was killed has left.
import ctypes, fcntl, hashlib, json, os, select, signal, socket, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number, *arguments):
    arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return libc.syscall(ctypes.c_long(number), *arguments)


if sys.argv[1] == "clean":
    address = json.loads(sys.argv[2])
    libc.shmctl(int(address["OUTSIDE_SHM"]), 0, None)
    libc.msgctl(int(address["OUTSIDE_MSG"]), 0, None)
    libc.semctl(int(address["OUTSIDE_SEM"]), 0, 0)
    call(241, ctypes.c_char_p(address["OUTSIDE_MQ"].encode()))
    call(250, 21, int(address["OUTSIDE_KEY"]))
    for step in (
        lambda: os.unlink(address["OUTSIDE_SHM_FILE"]),
        lambda: os.kill(int(address["OUTSIDE_VICTIM"]), 9),
    ):
        try:
            step()
        except OSError:
            pass
    sys.exit()

directory, token = sys.argv[1], sys.argv[2]
secret = os.path.join(directory, "secret.txt")
ident = token[-12:]
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
payload = token.encode()
address, doors, undo = {}, {}, []


def door(name, family, kind, where):
    try:
        s = socket.socket(family, kind)
        s.bind(where)
        if kind == socket.SOCK_STREAM:
            s.listen(16)
        doors[name] = s
        return s.getsockname()
    except OSError:
        return None


for version, family, host in (("4", socket.AF_INET, "127.0.0.1"), ("6", socket.AF_INET6, "::1")):
    for name, kind in (("TCP", socket.SOCK_STREAM), ("UDP", socket.SOCK_DGRAM)):
        bound = door(name + version, family, kind, (host, 0))
        address["OUTSIDE_" + name + version] = str(bound[1]) if bound else ""
address["OUTSIDE_UNIX"] = door("UNIX", socket.AF_UNIX, socket.SOCK_STREAM, f"{directory}/outside.sock") or ""
address["OUTSIDE_UNIX_WORK"] = door("UNIX_WORK", socket.AF_UNIX, socket.SOCK_STREAM, f"{directory}/work/w.sock") or ""
address["OUTSIDE_UNIX_DGRAM"] = door("UNIX_DGRAM", socket.AF_UNIX, socket.SOCK_DGRAM, f"{directory}/work/d.sock") or ""
door("ABSTRACT", socket.AF_UNIX, socket.SOCK_STREAM, f"\0escapes-{ident}")
address["OUTSIDE_ABSTRACT"] = f"escapes-{ident}"
for s in doors.values():
    s.setblocking(False)

# System V: a segment, a queue and a semaphore, open to all.
shm = libc.shmget(0, 4096, 0o1666)
at = libc.shmat(shm, None, 0)
ctypes.memmove(at, payload, len(payload))
undo.append(lambda: libc.shmctl(shm, 0, None))
msg = libc.msgget(0, 0o1666)
message = (1).to_bytes(8, "little") + payload
libc.msgsnd(msg, message, len(payload), 0)
undo.append(lambda: libc.msgctl(msg, 0, None))
sem = libc.semget(0, 1, 0o1666)
undo.append(lambda: libc.semctl(sem, 0, 0))
address.update(OUTSIDE_SHM=str(shm), OUTSIDE_MSG=str(msg), OUTSIDE_SEM=str(sem))

# POSIX: a file in /dev/shm and a message queue.
shm_file = f"/dev/shm/escapes-{ident}"
try:
    with open(shm_file, "wb") as f:
        f.write(payload)
    undo.append(lambda: os.unlink(shm_file))
except OSError:
    pass
address["OUTSIDE_SHM_FILE"] = shm_file
queue = b"escapes-" + ident.encode()
attributes = (ctypes.c_long * 8)(0, 4, 128)
mq = call(240, ctypes.c_char_p(queue), os.O_RDWR | os.O_CREAT, 0o666, attributes)
if mq >= 0:
    call(242, mq, ctypes.c_char_p(payload), len(payload), 0, None)
    undo.append(lambda: call(241, ctypes.c_char_p(queue)))
address["OUTSIDE_MQ"] = queue.decode()

# A key in the user's keyring, from which the session's is searched too.
key = call(248, ctypes.c_char_p(b"user"), ctypes.c_char_p(b"escapes-" + ident.encode()), payload, len(payload), -4)
if key >= 0:
    undo.append(lambda: call(250, 21, key))  # invalidate
address.update(OUTSIDE_KEY=str(key), OUTSIDE_KEY_NAME="escapes-" + ident)

# The handle of the secret file, for those who open without a path.
handle = (ctypes.c_ubyte * 136)()
ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint32))[0] = 128
mount = ctypes.c_int()
if call(303, -100, ctypes.c_char_p(os.fsencode(secret)), handle, ctypes.byref(mount), 0) == 0:
    address["OUTSIDE_HANDLE"] = bytes(handle).hex()

# A victim with the token in its environment, and the secret open.
held_open = os.open(secret, os.O_RDONLY)
fcntl.flock(held_open, fcntl.LOCK_EX)
victim = subprocess.Popen(
    ["/usr/bin/sleep", "60"], env={"VICTIM_TOKEN": token}, pass_fds=[held_open], stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=directory,
)
address.update(OUTSIDE_VICTIM=str(victim.pid), OUTSIDE_VICTIM_FD=str(held_open))
address["OUTSIDE_HOSTNAME"] = socket.gethostname()
address["OUTSIDE_LOCK"] = str(os.stat(secret).st_ino)
with open("/etc/passwd", "rb") as f:
    address["OUTSIDE_ACCOUNTS"] = hashlib.sha256(f.read()).hexdigest()
undo.append(lambda: (victim.kill(), victim.wait()))


def leave(*_):
    for step in reversed(undo):
        try:
            step()
        except OSError:
            pass
    os._exit(0)


def state():
    with open(f"/proc/{victim.pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGHUP, leave)
nice = os.getpriority(os.PRIO_PROCESS, victim.pid)
print(json.dumps(address), flush=True)
sys.stdin.readline()

done = []
for name, s in doors.items():
    if select.select([s], [], [], 0)[0]:
        done.append(f"{name} was reached")
if victim.poll() is not None:
    done.append(f"the victim ended with {victim.returncode}")
elif state() not in "SR":
    done.append(f"the victim is in state {state()}")
elif os.getpriority(os.PRIO_PROCESS, victim.pid) != nice:
    done.append("the victim's priority changed")
if ctypes.string_at(at, len(payload)) != payload:
    done.append("the shared memory changed")
if libc.semctl(sem, 0, 12) != 0:  # GETVAL
    done.append("the semaphore changed")
buffer = ctypes.create_string_buffer(256)
if libc.msgrcv(msg, buffer, 200, 0, 0o4000) < 0:  # IPC_NOWAIT
    done.append("the message was taken")
if os.path.exists(shm_file):
    with open(shm_file, "rb") as f:
        if f.read() != payload:
            done.append("the file in /dev/shm changed")
else:
    done.append("the file in /dev/shm is gone")
print(json.dumps(done), flush=True)
leave()
