"""Load on `metier serve --http`: questions that nobody answers, and scripts that print a lot.

    load.py METIER QUESTIONS SCRIPTS
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MOST_MEMORY = 200_000_000
MOST_WAIT = 1.0
SCRIPT = """#!/bin/sh
head -c 4194304 /dev/zero | tr '\\0' o
head -c 4194304 /dev/zero | tr '\\0' e >&2
"""


class Client:
    """A session, on connections of its own."""

    def __init__(self, port, capabilities):
        self.port, self.id, self.session = port, 0, None
        hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "load", "version": "1"}}
        response, _ = self.post("initialize", hello)
        self.session = response.getheader("mcp-session-id")
        self.messages(response)
        self.post("notifications/initialized", None)[0].read()

    def post(self, method, params):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            self.id += 1
            message |= {"id": self.id, "params": params}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        connection.request("POST", "/mcp", json.dumps(message), headers)
        return connection.getresponse(), connection

    @staticmethod
    def next_message(response):
        for line in response:
            data = line.strip().removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data:
                return json.loads(data)
        raise AssertionError("the stream ended")

    def messages(self, response):
        return [json.loads(line[5:]) for line in response.read().splitlines() if line.startswith(b"data:") and line[5:].strip()]

    def call(self, tool, **arguments):
        response, _ = self.post("tools/call", {"name": tool, "arguments": arguments})
        result = self.messages(response)[-1]["result"]
        assert not result["isError"], result
        return result["content"][0]["text"]


def skill(root, name, script):
    (root / name / "scripts").mkdir(parents=True)
    (root / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Use to test {name}.\n---\nRun it.\n")
    path = root / name / "scripts" / "run.sh"
    path.write_text(script)
    path.chmod(0o755)


def memory(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("Vm")}


def main(metier, questions, scripts):
    place = Path(tempfile.mkdtemp())
    root = place / "skills"
    skill(root, "asks", "#!/bin/sh\n")
    skill(root, "prints", SCRIPT)
    env = {"HOME": str(place), "PATH": "/usr/bin:/bin"}
    approve = [metier, "approve", "--root", f"{root}:user", "prints", "--script", "scripts/run.sh", "--yes"]
    subprocess.run(approve, env=env, check=True, stdout=subprocess.DEVNULL)
    serve = [metier, "serve", "--root", f"{root}:user", "--http", "0", "--rate", "1000000"]
    server = subprocess.Popen(serve, env=env, stderr=subprocess.PIPE, text=True, cwd=place)
    try:
        port = int(server.stderr.readline().strip().removesuffix("/mcp").rsplit(":", 1)[1])
        begun = time.monotonic()
        waiting = []
        for _ in range(questions):
            client = Client(port, {"elicitation": {}})
            response, connection = client.post("tools/call", {"name": "run_skill_script", "arguments": {"skill_name": "asks", "script_name": "scripts/run.sh"}})
            question = client.next_message(response)
            assert question["method"] == "elicitation/create", question
            waiting.append((response, connection))
        asked = time.monotonic() - begun
        begun = time.monotonic()
        text = Client(port, {}).call("load_skill", skill_name="asks")
        waited = time.monotonic() - begun
        assert "Run it." in text, text
        threads = len(os.listdir(f"/proc/{server.pid}/task"))
        print(f"{questions} unanswered questions (asked in {asked:.1f} s): one more client served in {waited * 1000:.0f} ms, {threads} threads, {memory(server.pid)['VmRSS'] / 1e6:.0f} MB")
        assert waited < MOST_WAIT, "the next client had to wait"

        texts = []

        def run():
            texts.append(Client(port, {}).call("run_skill_script", skill_name="prints", script_name="scripts/run.sh"))

        begun = time.monotonic()
        threads = [threading.Thread(target=run) for _ in range(scripts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - begun
        peak = memory(server.pid)
        longest = max(map(len, texts))
        print(f"{scripts} scripts with 8 MiB of output each in {took:.1f} s: peak {peak['VmHWM'] / 1e6:.0f} MB, now {peak['VmRSS'] / 1e6:.0f} MB, longest answer {longest} characters")
        assert len(texts) == scripts and longest < 70_000, longest
        assert peak["VmHWM"] < MOST_MEMORY, "the server took too much memory"
    finally:
        server.terminate()
        server.wait()
        subprocess.run(["rm", "-rf", str(place)], check=False)
    print("\n2 passed, 0 failed, 0 skipped")


# The server runs in a directory of its own, so the path must not depend on ours.
main(os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
