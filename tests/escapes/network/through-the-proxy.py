# Asks the proxy for a host that was not allowed: the machine itself.
# needs: outside
# options: --network proxy --allow-host example.invalid:443
from escape import *
import socket, urllib.parse
proxy = urllib.parse.urlparse(E.get("HTTPS_PROXY") or E.get("https_proxy") or E.get("ALL_PROXY") or "")
port = int(E["OUTSIDE_TCP4"])
for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "example.invalid@127.0.0.1"):
    s = socket.create_connection((proxy.hostname or "127.0.0.1", proxy.port or port), 2)
    s.settimeout(2 if proxy.port else 0.1)
    s.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: example.invalid:443\r\n\r\n".encode())
    try:
        print("answered", s.recv(64))
    except OSError as e:
        print(e)
