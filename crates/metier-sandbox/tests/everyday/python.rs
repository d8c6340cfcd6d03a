//! Python, with what comes with it.

use crate::Language;

const PYTHON: Language = Language { program: "/usr/bin/python3", option: "-c" };

rows! { PYTHON:
    subprocess: r#"
import subprocess
print(subprocess.run(["tr", "a-z", "A-Z"], input="hi", capture_output=True, text=True).stdout)
print(subprocess.check_output("echo $((6 * 7))", shell=True, text=True).strip())
"# => "HI\n42";

    multiprocessing_pool: r"
from multiprocessing import Pool
with Pool(2) as pool:
    print(pool.map(abs, range(-3, 0)))
" => "[3, 2, 1]";

    multiprocessing_process_and_queue: r#"
from multiprocessing import Process, Queue
queue = Queue()
child = Process(target=queue.put, args=({"a": 1},))
child.start()
print(queue.get(timeout=20))
child.join()
print(child.exitcode)
"# => "{'a': 1}\n0";

    multiprocessing_pipe_lock_and_value: r#"
from multiprocessing import Pipe, Process, Value
def child(end, value):
    with value.get_lock():
        value.value += 41
    end.send("done")
here, there = Pipe()
value = Value("i", 1)
process = Process(target=child, args=(there, value))
process.start()
print(here.recv())
process.join()
print(value.value)
"# => "done\n42";

    multiprocessing_spawn: r#"
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(sum, ([1, 2],)))
"# => "3";

    multiprocessing_shared_memory: r"
from multiprocessing import Process
from multiprocessing.shared_memory import SharedMemory
def child(name):
    memory = SharedMemory(name)
    memory.buf[0] = 7
    memory.close()
memory = SharedMemory(create=True, size=1 << 20)
process = Process(target=child, args=(memory.name,))
process.start()
process.join()
print(memory.buf[0])
memory.close()
memory.unlink()
" => "7";

    process_pool_executor: r#"
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(2) as pool:
    print(list(pool.map(len, ["a", "bb"])))
"# => "[1, 2]";

    thread_pool_executor: r"
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(lambda n: n * n, range(10))))
" => "285";

    threads: r"
import threading
done = []
threads = [threading.Thread(target=done.append, args=(n,)) for n in range(20)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(done) == list(range(20)), threading.get_native_id() > 0)
" => "True True";

    asyncio_and_subprocess: r#"
import asyncio
async def main():
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    output, _ = await child.communicate(b"through cat")
    values = await asyncio.gather(*(asyncio.sleep(0.01, n) for n in range(3)))
    print(output.decode(), child.returncode, values, await asyncio.to_thread(len, "abc"))
asyncio.run(main())
"# => "through cat 0 [0, 1, 2] 3";

    asyncio_server_and_client: r#"
import asyncio
async def serve(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello\n")
    print((await reader.read()).decode())
    writer.close()
asyncio.run(main())
"# => "HELLO";

    http_server_and_client: r#"
import http.server, pathlib, threading, urllib.request
pathlib.Path("page.txt").write_text("a page")
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://localhost:{server.server_port}/page.txt").read().decode())
server.shutdown()
"# => "a page";

    datagrams_and_ipv6: r#"
import socket
receiver = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
receiver.bind(("::1", 0))
socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"six", receiver.getsockname())
print(receiver.recv(9).decode())
"# => "six";

    socketpair: r#"
import socket
a, b = socket.socketpair()
a.send(b"pair")
print(b.recv(9).decode())
"# => "pair";

    tempfile: r#"
import os, tempfile
with tempfile.TemporaryDirectory() as directory, tempfile.NamedTemporaryFile(dir=directory) as file:
    file.write(b"x" * 1000)
    file.flush()
    print(os.path.getsize(file.name), tempfile.gettempdir())
with tempfile.TemporaryFile() as file:
    print(file.write(b"abc"))
"# => "1000 /tmp\n3";

    sqlite_in_a_file_with_a_log: r#"
import sqlite3
one, two = sqlite3.connect("data.db"), sqlite3.connect("data.db")
print(one.execute("pragma journal_mode=wal").fetchone()[0])
with one:
    one.execute("create table t (n integer)")
    one.executemany("insert into t values (?)", [(n,) for n in range(100)])
print(two.execute("select sum(n) from t").fetchone()[0])
"# => "wal\n4950";

    sqlite_in_memory: r#"
import sqlite3
print(sqlite3.connect(":memory:").execute("select 1 + 1").fetchone()[0])
"# => "2";

    ssl: r"
import ssl
context = ssl.create_default_context()
print(context.verify_mode.name, context.check_hostname)
" => "CERT_REQUIRED True";

    user: r#"
import getpass, grp, os, pwd
user = pwd.getpwuid(os.getuid())
print(user.pw_name, user.pw_dir, grp.getgrgid(os.getgid()).gr_name, getpass.getuser(), os.path.expanduser("~"))
"# => "skill /tmp skill skill /tmp";

    host_name: r#"
import platform, socket
print(socket.gethostname(), platform.node(), socket.gethostbyname(socket.gethostname()))
print("127.0.0.1" in {address[4][0] for address in socket.getaddrinfo("localhost", 80)})
"# => "sandbox.invalid sandbox.invalid 127.0.0.1\nTrue";

    small_modules: r#"
import base64, bz2, csv, decimal, hashlib, io, json, lzma, re, struct, xml.etree.ElementTree, zlib
print(json.dumps({"a": [1, None]}), len(zlib.compress(b"a" * 1000)) < 50, hashlib.sha256(b"").hexdigest()[:8])
print(lzma.decompress(lzma.compress(b"x")), bz2.decompress(bz2.compress(b"y")))
"# => "{\"a\": [1, null]} True e3b0c442\nb'x' b'y'";

    mmap: r#"
import mmap
with open("file", "w+b") as file:
    file.truncate(8192)
    with mmap.mmap(file.fileno(), 0) as mapped:
        mapped[4096:4099] = b"abc"
    file.seek(4096)
    print(file.read(3).decode())
print(len(mmap.mmap(-1, 4096)))
"# => "abc\n4096";

    select_poll_and_epoll: r#"
import os, select
reader, writer = os.pipe()
os.write(writer, b"x")
poll, epoll = select.poll(), select.epoll()
poll.register(reader, select.POLLIN)
epoll.register(reader, select.EPOLLIN)
print(select.select([reader], [], [], 5)[0] == [reader], len(poll.poll(5000)), len(epoll.poll(5)))
"# => "True 1 1";

    signal_handlers: r"
import os, signal
def handler(number, _): print(signal.Signals(number).name, flush=True)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGALRM):
    signal.signal(number, handler)
os.kill(os.getpid(), signal.SIGTERM)
signal.raise_signal(signal.SIGUSR1)
signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.pause()
" => "SIGTERM\nSIGUSR1\nSIGALRM";

    machine: r#"
import os, platform, resource
print(os.cpu_count() > 0, len(os.sched_getaffinity(0)) > 0, platform.system(), os.sysconf("SC_PAGE_SIZE") >= 4096)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0, len(os.getloadavg()))
"# => "True True Linux True\nTrue 3";

    shutil_copytree: r#"
import os, pathlib, shutil
pathlib.Path("a/b").mkdir(parents=True)
pathlib.Path("a/b/file").write_text("text")
os.symlink("b/file", "a/link")
shutil.copytree("a", "/tmp/copy", symlinks=True)
shutil.move("/tmp/copy", "moved")
shutil.rmtree("a")
print(sorted(os.listdir("moved")), pathlib.Path("moved/link").read_text(), os.listdir("."))
print(shutil.disk_usage(".").total > 0, shutil.which("sh") is not None)
"# => "['b', 'link'] text ['moved']\nTrue True";

    archives: r#"
import io, pathlib, tarfile, zipfile
pathlib.Path("file").write_text("packed")
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.write("file")
with tarfile.open("a.tar.gz", "w:gz") as archive:
    archive.add("file")
pathlib.Path("file").unlink()
print(zipfile.ZipFile("a.zip").read("file").decode())
tarfile.open("a.tar.gz").extractall("out")
print(pathlib.Path("out/file").read_text())
"# => "packed\npacked";

    standard_streams_by_name: r#"
import sys
with open("/dev/stdout", "w") as stream: print("one", file=stream)
with open("/dev/fd/1", "w") as stream: print("two", file=stream)
with open("/dev/stderr", "w") as stream: pass
with open("/dev/stdin") as stream: print(repr(stream.read()), sys.stdout.isatty())
"# => "one\ntwo\n'' False";

    devices: r#"
print(open("/dev/zero", "rb").read(2), len(open("/dev/urandom", "rb").read(3)), open("/dev/null").read() == "")
try: open("/dev/full", "wb", 0).write(b"x")
except OSError as error: print(error.errno)
"# => "b'\\x00\\x00' 3 True\n28";

    locale_and_time: r#"
import locale, sys, time, zoneinfo
locale.setlocale(locale.LC_ALL, "")
print(locale.getlocale()[1], sys.stdout.encoding, sys.getfilesystemencoding(), "grüße")
print(zoneinfo.ZoneInfo("Europe/Berlin"), time.strftime("%Y") > "2000", len(time.tzname))
time.sleep(0.01)
"# => "UTF-8 utf-8 utf-8 grüße\nEurope/Berlin True 2";

    chance: r"
import os, random, secrets, uuid
print(len(uuid.uuid4().hex), uuid.uuid1().version, len(secrets.token_hex(4)), random.random() < 1, len(os.urandom(5)))
" => "32 1 8 True 5";

    ctypes: r"
import ctypes, os
library = ctypes.CDLL(None)
print(library.getpid() == os.getpid())
call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n + 1)
print(call(41))
" => "True\n42";

    file_attributes: r#"
import fcntl, os, stat
with open("file", "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    fcntl.lockf(file, fcntl.LOCK_EX)
    os.posix_fallocate(file.fileno(), 0, 4096)
os.chmod("file", 0o640)
os.utime("file", (1, 2))
os.link("file", "hard")
os.mkfifo("fifo")
os.rename("hard", "other")
found = os.stat("other")
print(oct(stat.S_IMODE(found.st_mode)), found.st_mtime, found.st_nlink, found.st_uid == os.getuid(), found.st_size)
"# => "0o640 2.0 2 True 4096";

    daemons_and_sessions: r#"
import os
nice = os.nice(0)
child = os.fork()
if child == 0:
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(os.posix_spawnp("sh", ["sh", "-c", "exit 0"], os.environ) > 0, os.wait()[1], os.nice(1) - nice)
"# => "3\nTrue 0 1";
}

// Names in the file system by which others could be reached, so none of it.
refused! { PYTHON:
    multiprocessing_manager: "
from multiprocessing import Manager
Manager()
" => "Operation not permitted";

    multiprocessing_forkserver: "
import multiprocessing
multiprocessing.get_context('forkserver').Pool(1)
" => "Operation not permitted";

    unix_sockets: "
import socket
socket.socket(socket.AF_UNIX)
" => "PermissionError: [Errno 1] Operation not permitted";

    raw_sockets: "
import socket
socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
" => "PermissionError: [Errno 1] Operation not permitted";

    other_machines: "
import socket
socket.create_connection(('192.0.2.1', 80), 5)
" => "Network is unreachable";

    names_of_other_machines: "
import urllib.request
urllib.request.urlopen('http://example.org', timeout=5)
" => "Temporary failure in name resolution";

    message_queues_of_system_v: "
import ctypes, os
library = ctypes.CDLL(None, use_errno=True)
if library.shmget(0, 4096, 0o1600) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
" => "Function not implemented";
}
