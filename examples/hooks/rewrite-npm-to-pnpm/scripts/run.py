#!/usr/bin/env python3
"""Turns npm commands into pnpm ones in a project with a pnpm-lock.yaml."""

import json
import os
import re
import sys

# What npm is asked to do, and the same for pnpm.
SUBCOMMANDS = {
    "add": "add",
    "ci": "install --frozen-lockfile",
    "i": "install",
    "install": "install",
    "remove": "remove",
    "run": "run",
    "start": "start",
    "test": "test",
    "uninstall": "remove",
}

# Quoted text is matched first, so that it is passed over; then npm at the beginning of a command.
NPM = re.compile(
    r"""'[^']*' | "(?:\\.|[^"\\])*"
    | (?P<before> (?:^|[;&|(\n]) \s* ) npm (?P<blank> [ \t]+ ) (?P<subcommand> [a-z]+ ) (?![\w.-])""",
    re.VERBOSE,
)


def to_pnpm(found):
    pnpm = SUBCOMMANDS.get(found["subcommand"])
    if pnpm is None:
        return found[0]
    return f"{found['before']}pnpm{found['blank']}{pnpm}"


def main():
    event = json.load(sys.stdin)
    command = event["tool_input"]["command"]
    changed = NPM.sub(to_pnpm, command)
    if changed == command or not os.path.exists("pnpm-lock.yaml"):
        return
    answer = {
        "modified_input": {"command": changed},
        "additional_context": f"This project uses pnpm: the command was changed to `{changed}`.",
    }
    print(json.dumps(answer, ensure_ascii=False))


if __name__ == "__main__":
    main()
