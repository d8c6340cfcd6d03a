"""Servers of others behind `metier gateway`: an allowed and a denied call of each, checked by what it does.

    servers.py METIER CACHE     with the servers installed in CACHE
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import mcp_types as types
from mcp import Client, StdioServerParameters

metier, cache = sys.argv[1], Path(sys.argv[2])
counts = {"passed": 0, "failed": 0}

SKILL = """---
name: files
description: Reads files and the log of a repository.
allowed-tools: mcp__files__read_text_file mcp__git__git_log mcp__time__get_current_time mcp__everything__echo
---
Read.
"""


def settings(place):
    node = f"{cache}/node_modules/node/bin:{cache}/node_modules/.bin:/usr/bin:/bin"
    servers = {
        "files": [f"{cache}/node_modules/.bin/mcp-server-filesystem", str(place / "data")],
        "everything": [f"{cache}/node_modules/.bin/mcp-server-everything"],
        "git": [f"{cache}/servers/bin/mcp-server-git", "--repository", str(place / "repository")],
        "time": [f"{cache}/servers/bin/mcp-server-time", "--local-timezone", "UTC"],
    }
    tables = [
        f"[servers.{name}]\ncommand = {json.dumps(words[0])}\nargs = {json.dumps(words[1:])}\nenv = {{ PATH = {json.dumps(node)} }}\n"
        for name, words in servers.items()
    ]
    return "\n".join(tables)


def lay_out(place):
    (place / "data").mkdir()
    (place / "data/note.txt").write_text("kept\n")
    (place / "skills/files").mkdir(parents=True)
    (place / "skills/files/SKILL.md").write_text(SKILL)
    (place / "home/.config/metier").mkdir(parents=True)
    (place / "home/.config/metier/config.toml").write_text(settings(place))
    git = ["git", "-C", str(place / "repository"), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (place / "repository").mkdir()
    for words in [["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "the first commit"]]:
        subprocess.run(git + words, check=True)


def check(what, is_fine, shown=""):
    print(f"{what}: {'ok' if is_fine else 'FAILED'}")
    counts["passed" if is_fine else "failed"] += 1
    if not is_fine:
        print(shown, file=sys.stderr)


async def main(mode, place):
    async def elicit(_, params):
        return types.ElicitResult(action="accept", content={})

    environment = {"HOME": str(place / "home"), "PATH": os.environ["PATH"]}
    arguments = ["gateway", "--root", str(place / "skills")]
    target = StdioServerParameters(command=metier, args=arguments, env=environment, cwd=str(place))
    async with Client(target, elicitation_callback=elicit, mode=mode) as client:

        async def call(tool, **given):
            result = await client.call_tool(tool, given)
            texts = [item.text for item in result.content if getattr(item, "text", None)]
            return result.is_error, "\n".join(texts)

        version = client.protocol_version
        tools = [tool.name for tool in (await client.list_tools()).tools]
        for server in ["files", "everything", "git", "time"]:
            check(f"{version}, {server}: listed", any(name.startswith(f"mcp__{server}__") for name in tools), tools)
        written = place / "data/new.txt"
        error, text = await call("mcp__files__write_file", path=str(written), content="new\n")
        check(f"{version}, files: written", not error and written.read_text() == "new\n", text)
        error, text = await call("load_skill", skill_name="files")
        check(f"{version}, files: skill loaded", not error, text)
        error, text = await call("mcp__files__read_text_file", path=str(place / "data/note.txt"))
        check(f"{version}, files: allowed", not error and "kept" in text, text)
        error, text = await call("mcp__files__write_file", path=str(written), content="changed\n")
        check(f"{version}, files: denied", error and "`files`" in text and written.read_text() == "new\n", text)
        repository = str(place / "repository")
        error, text = await call("mcp__git__git_log", repo_path=repository)
        check(f"{version}, git: allowed", not error and "the first commit" in text, text)
        error, text = await call("mcp__git__git_create_branch", repo_path=repository, branch_name="evil")
        branches = subprocess.run(["git", "-C", repository, "branch"], capture_output=True, text=True, check=True).stdout
        check(f"{version}, git: denied", error and "evil" not in branches, text + branches)
        error, text = await call("mcp__time__get_current_time", timezone="UTC")
        check(f"{version}, time: allowed", not error and "UTC" in text, text)
        error, text = await call("mcp__time__convert_time", source_timezone="UTC", time="10:00", target_timezone="UTC")
        check(f"{version}, time: denied", error and "`files`" in text, text)
        error, text = await call("mcp__everything__echo", message="hello")
        check(f"{version}, everything: allowed", not error and "hello" in text, text)
        error, text = await call("mcp__everything__get-sum", a=1, b=2)
        check(f"{version}, everything: denied", error and "`files`" in text, text)
        resources = (await client.list_resources()).resources
        check(f"{version}, everything: resources", len(resources) > 2, resources)
    log = [metier, "audit", "log", "--json"]
    records = subprocess.run(log, capture_output=True, text=True, env=environment, cwd=place, check=True).stdout
    check(f"{version}: recorded", '"server.tool_called"' in records, records[:2000])


for mode in ["legacy", "auto"]:
    with tempfile.TemporaryDirectory() as directory:
        base = Path(directory).resolve()
        lay_out(base)
        asyncio.run(main(mode, base))
print(f"\n{counts['passed']} passed, {counts['failed']} failed, 0 skipped")
sys.exit(1 if counts["failed"] else 0)
