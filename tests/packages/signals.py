"""Checks that a program that starts metier ends as metier does when it gets a signal, and passes on its streams.

Usage: signals.py METIER SHIM
"""

import json
import signal
import subprocess
import sys

REQUEST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def code_after(program, number):
    """The exit code of a server that answered a request and then got a signal; a shell's number if the signal ended it."""
    server = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    server.stdin.write(json.dumps(REQUEST).encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    assert answer["result"]["serverInfo"]["name"] == "metier", answer
    server.send_signal(number)
    # The streams end only when no process has them any more.
    server.stdout.read()
    code = server.wait()
    return code if code >= 0 else 128 - code


for number in [signal.SIGTERM, signal.SIGHUP]:
    expected, found = (code_after(program, number) for program in sys.argv[1:])
    assert expected == found, f"{number.name}: exit code {found} instead of {expected}"
