#!/usr/bin/env python3
"""Blocks tools that would touch a file with secrets.

Exit 0: no opinion. Exit 2: blocked, the reason is on stderr.
"""

import json
import os
import re
import shlex
import sys
from fnmatch import fnmatchcase

# Names of files, lower case.
SECRET = [".env", ".env.*", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.pem", "*.p12", "*.pfx"]
FREE = [".env.example", ".env.sample", ".env.template", ".env.dist", ".env*.example"]

# Commands that may name a file because they do not show or change what is in it.
ONLY_SPEAKS = {
    "[", "[[", "echo", "ls", "printf", "stat", "test", "git check-ignore", "git commit", "git status",
}  # fmt: skip

# Fields of a tool's input that hold text, not the name of a file.
TEXT_FIELDS = {"content", "edit", "edits", "new", "new_string", "old", "old_string", "pattern", "query"}


def is_secret(path):
    name = os.path.basename(path.rstrip("/")).lower()
    if any(fnmatchcase(name, free) for free in FREE):
        return False
    if any(fnmatchcase(name, secret) for secret in SECRET):
        return True
    # A wildcard of some length that would catch one of the names: `cat .env*`, `cat id_*`.
    literal = re.match(r"[^*?[]*", name).group()
    return literal != name and len(literal) > 2 and any(fnmatchcase(s, name) for s in SECRET if "*" not in s)


def in_input(value, work_dir):
    """Returns the first secret file that a tool's input names, or None."""
    if isinstance(value, str):
        real = os.path.realpath(os.path.join(work_dir, value)) if "\0" not in value else value
        return value if is_secret(value) or is_secret(real) else None
    if isinstance(value, dict):
        value = [v for k, v in value.items() if k not in TEXT_FIELDS]
    for part in value if isinstance(value, list) else []:
        found = in_input(part, work_dir)
        if found:
            return found
    return None


def in_command(command):
    """Returns the first secret file that a shell command touches, or None."""
    lexer = shlex.shlex(command.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:  # a quote that is not closed
        tokens = command.split()
    words, after_redirect = [], False
    for token in tokens:
        if re.fullmatch(r"[<>&|;()]+", token):
            after_redirect = "<" in token or ">" in token
            if not after_redirect:
                words = []
            continue
        speaks = bool(words) and (words[0] in ONLY_SPEAKS or " ".join(words[:2]) in ONLY_SPEAKS)
        runs_something = "$(" in token or "`" in token
        if after_redirect or runs_something or not speaks:
            for piece in re.split(r"[\s'\"`;&|<>()=:,@{}]+", token):
                if is_secret(piece):
                    return piece
        if not after_redirect:
            words.append(token)
        after_redirect = False
    return None


def main():
    event = json.load(sys.stdin)
    tool_input = event["tool_input"]
    if event["tool_name"] == "Shell":
        command = tool_input["command"]
        found = in_command(shlex.join(command) if isinstance(command, list) else command)
    else:
        found = in_input(tool_input, event.get("work_dir") or ".")
    if found:
        print(f"`{found}` may contain secrets and is off limits. Ask the person for what you need.", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
