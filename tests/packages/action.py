"""Runs the `run:` steps of action.yml as a runner does, and prints the outputs of the action as JSON on the last line.

Usage: action.py ACTION-DIRECTORY WORK-DIRECTORY [INPUT=VALUE…]

Exit code: that of the first step that fails, else 0.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ACTION = Path(sys.argv[1]).resolve()
WORK = Path(sys.argv[2]).resolve()
document = yaml.safe_load((ACTION / "action.yml").read_text())
given = dict(argument.split("=", 1) for argument in sys.argv[3:])
unknown = given.keys() - document["inputs"].keys()
if unknown:
    sys.exit(f"action.yml has no input {', '.join(sorted(unknown))}")
inputs = {name: given.get(name, str(entry.get("default", ""))) for name, entry in document["inputs"].items()}
temporary = tempfile.TemporaryDirectory()
values = {f"inputs.{name}": value for name, value in inputs.items()}
values |= {"github.action_path": str(ACTION), "runner.temp": temporary.name}


def fill(text):
    """Replaces expressions. One that is not a plain name stops the run; outputs that were not set are empty."""

    def value(match):
        name = match[1].strip()
        if re.fullmatch(r"steps\.[\w-]+\.outputs\.[\w-]+", name):
            return values.get(name, "")
        return values[name]

    return re.sub(r"\$\{\{(.*?)\}\}", value, str(text))


path, code = os.environ["PATH"], 0
for step in document["runs"]["steps"]:
    assert set(step) <= {"name", "id", "shell", "env", "run"} and step["shell"] == "bash", f"not supported here: {step}"
    assert "${{" not in step["run"], "expressions belong into `env:`; in a script they are code"
    files = {name: Path(temporary.name) / name for name in ["GITHUB_OUTPUT", "GITHUB_PATH"]}
    for file in files.values():
        file.write_text("")
    script = Path(temporary.name) / "step.sh"
    script.write_text(step["run"])
    environment = os.environ | {name: fill(value) for name, value in step.get("env", {}).items()}
    environment |= {name: str(file) for name, file in files.items()} | {"PATH": path}
    run = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
    code = subprocess.run(run, cwd=WORK, env=environment, stdin=subprocess.DEVNULL).returncode
    for line in files["GITHUB_OUTPUT"].read_text().splitlines():
        name, _, value = line.partition("=")
        values[f"steps.{step.get('id')}.outputs.{name}"] = value
    path = ":".join([*files["GITHUB_PATH"].read_text().splitlines(), path])
    if code != 0:
        break
outputs = {name: fill(entry["value"]) for name, entry in document["outputs"].items()}
print(json.dumps(outputs), flush=True)
sys.exit(code)
