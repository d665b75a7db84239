#!/usr/bin/env python3
"""Formats the Python file that was just written."""

import json
import os
import shutil
import subprocess
import sys

# Tried in this order, first in .venv/bin, then in PATH.
FORMATTERS = [["black", "--quiet"], ["ruff", "format", "--quiet"]]


def find_formatter():
    for places in (os.path.abspath(".venv/bin"), None):
        for program, *options in FORMATTERS:
            found = shutil.which(program, path=places)
            if found:
                return [found, *options]
    return None


def main():
    event = json.load(sys.stdin)
    tool_input = event.get("tool_input") or {}
    path = tool_input.get("path") or tool_input.get("file_path") or ""
    path = os.path.join(event.get("work_dir") or "", path)
    if not path.endswith(".py") or not os.path.isfile(path):
        return
    formatter = find_formatter()
    if formatter is None:
        print("neither black nor ruff is installed: nothing to do", file=sys.stderr)
        return
    done = subprocess.run([*formatter, os.path.abspath(path)], stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{formatter[0]} could not format {path}")


if __name__ == "__main__":
    main()
