"""The official Python client against `metier serve`: lists, loads, reads and runs; asked back, and asked along with the next call.

    client.py METIER ROOT            at standard input and output
    client.py URL                    over HTTP
"""

import asyncio
import os
import sys

import mcp_types as types
from mcp import Client, StdioServerParameters


async def main(mode):
    asked = []

    async def elicit(_, params):
        asked.append(params.message)
        action = "accept" if len(asked) == 1 else "decline"
        return types.ElicitResult(action=action, content={"answer": "once"} if action == "accept" else None)

    if sys.argv[1].startswith("http"):
        target = sys.argv[1]
    else:
        target = StdioServerParameters(command=sys.argv[1], args=["serve", "--root", sys.argv[2]], env=dict(os.environ))
    async with Client(target, elicitation_callback=elicit, mode=mode) as client:

        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            assert result.structured_content is None, result
            return result.is_error, result.content[0].text

        assert "<name>tally</name>" in client.instructions, client.instructions
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == ["list_skills", "load_skill", "read_skill_resource", "run_skill_script"], tools
        _, text = await call("list_skills", query="count words")
        assert text.startswith("tally: "), text
        error, text = await call("load_skill", skill_name="tally")
        assert not error and "Marmot-81" in text, text
        error, text = await call("read_skill_resource", skill_name="binder", resource_name="references/guide.md")
        assert not error and "The newest comes first." in text, text
        run = {"skill_name": "tally", "script_name": "scripts/count.sh", "args": ["one", "two"]}
        error, text = await call("run_skill_script", **run)
        assert not error and text.startswith("2 words: one two\n[ran in "), text
        error, text = await call("run_skill_script", **run)
        assert error and "Do not try" in text, text
        assert len(asked) == 2 and "`scripts/count.sh`" in asked[0], asked
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        assert "skill://binder/SKILL.md" in uris, uris
        read = await client.read_resource("skill://binder/references/deep/a%20note.md")
        assert read.contents[0].text == "Deeper.\n", read
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts == ["binder", "tally"], prompts
        print(f"{client.protocol_version}: ok")


# As clients did up to 2025-11-25, and as they do from 2026-07-28 on.
for mode in ["legacy", "auto"]:
    asyncio.run(main(mode))
