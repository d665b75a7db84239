"""An agent that asks before it runs a shell command: python3 example.py "ls" "rm -rf /"."""

import subprocess
import sys

from anyhook import Anyhook, before_tool

with Anyhook() as hooks:
    for command in sys.argv[1:]:  # Your agent asks its model here.
        verdict = hooks.decide(before_tool("Shell", {"command": command}, session_id="example"))
        for message in verdict.messages:
            print(f"note: {message}", file=sys.stderr)
        if verdict.decision == "ask" and input(f"run {command!r}? {verdict.reason} [y/N] ") != "y":
            print(f"not run: {command}")
        elif verdict.blocked:
            print(f"blocked: {verdict.reason}")  # Tell the model why.
        else:
            command = (verdict.modified_input or {}).get("command", command)
            subprocess.run(command, shell=True, check=False)
