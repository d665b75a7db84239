#!/usr/bin/env python3
"""Blocks shell commands that would destroy the system, the home folder or a disk.

Exit 0: no opinion. Exit 2: blocked, the reason is on stderr.
"""

import json
import os
import re
import shlex
import sys

HOME = os.path.normpath(os.environ.get("HOME") or "/root")

SYSTEM = set(
    "/ /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /run /sbin /srv /sys /usr /usr/bin "
    "/usr/lib /usr/local /usr/share /var /var/lib /Applications /Library /System /Users".split()
)

DISK = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|r?disk|dm-|md|mapper/)\w*")

# Commands that start another command, each with its short options that take a value.
WRAPPERS = {
    "builtin": "", "busybox": "", "command": "", "doas": "Cu", "env": "Cu", "exec": "a",
    "ionice": "cnp", "nice": "n", "nohup": "", "setsid": "", "stdbuf": "eio", "sudo": "CDghpRrTtUu",
    "time": "fo", "timeout": "ks", "xargs": "adEILnPs",
}  # fmt: skip
LONG_WITH_VALUE = {"--user", "--group", "--chdir", "--unset", "--signal", "--kill-after", "--adjustment"}

SHELLS = {"ash", "bash", "dash", "ksh", "sh", "zsh"}
KEYWORDS = {"!", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "time"}

# One character at least (which may be a `$` that starts nothing), then all that have no meaning to a shell.
PLAIN = re.compile(r"""[^ \t\r\n'"\\`;&|()<>][^ \t\r\n'"\\`;&|()<>$]*""")
PLAIN_IN_QUOTES = re.compile(r"""[^"\\`][^"\\`$]*""")
REDIRECT = re.compile(r"&?>>?[|&]?|<<<|<<-?|<[&>]?")

# Marks a `~`, `$` or `*` that quotes have made an ordinary character.
QUOTED = "\0"


class Simple:
    """One simple command: its words, the files it writes to, what is run inside it."""

    def __init__(self):
        self.words, self.writes, self.inner, self.heredocs = [], [], [], []


def closing_parenthesis(text, start):
    """Returns where the `)` is that closes the `(` just before `start`."""
    depth = 1
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


def split(text):
    """Splits a command line into simple commands. Never fails: what is not closed ends with the text."""
    commands = [Simple()]
    word = None  # the word being read; None between words
    target = None  # the operator (`>` or `<<`) whose file name or end mark comes next
    waiting = []  # here documents whose text begins after this line: (command, end mark)
    quote = None
    i = 0

    def end_word():
        nonlocal word, target
        if word is None:
            return
        command = commands[-1]
        if target is None:
            command.words.append(word)
        elif target == ">":
            command.writes.append(word)
        elif target == "<<":
            waiting.append((command, word.replace(QUOTED, "")))
        word = target = None

    while i < len(text):
        c = text[i]
        if quote == "'":
            end = text.find("'", i)
            end = len(text) if end < 0 else end
            word += re.sub(r"[~$*]", lambda special: QUOTED + special[0], text[i:end])
            quote, i = None, end + 1
        elif c == "\\":
            following = text[i + 1 : i + 2]
            if following != "\n":
                word = (word or "") + (QUOTED if following in tuple("~$*") else "") + following
            i += 2
        elif text.startswith("$(", i) or c == "`":
            start = i + (1 if c == "`" else 2)
            end = text.find("`", start) if c == "`" else closing_parenthesis(text, start)
            end = len(text) if end < 0 else end
            commands[-1].inner.append(text[start:end])
            word = (word or "") + text[i : end + 1]
            i = end + 1
        elif quote == '"':
            if c == '"':
                quote = None
                i += 1
            else:
                plain = PLAIN_IN_QUOTES.match(text, i)[0]
                word += re.sub(r"[~*]", lambda special: QUOTED + special[0], plain)
                i += len(plain)
        elif c in "'\"":
            quote, word = c, word or ""
            i += 1
        elif c == "#" and word is None:
            end = text.find("\n", i)
            i = len(text) if end < 0 else end
        elif c in " \t\r":
            end_word()
            i += 1
        elif c in "<>" or text.startswith("&>", i):
            if word is not None and word.isdigit():
                word = None  # the 2 of `2>`
            end_word()
            operator = REDIRECT.match(text, i)[0]
            target = ">" if ">" in operator else "<<" if operator in ("<<", "<<-") else "<"
            i += len(operator)
        elif c in ";&|()\n":
            end_word()
            target = None
            i += 1
            if c == "\n":
                for command, mark in waiting:
                    body = []
                    while i < len(text):
                        end = text.find("\n", i)
                        end = len(text) if end < 0 else end
                        line, i = text[i:end], end + 1
                        if line.lstrip("\t") == mark:
                            break
                        body.append(line)
                    command.heredocs.append("\n".join(body))
                waiting.clear()
            commands.append(Simple())
        else:
            plain = PLAIN.match(text, i)[0]
            word = (word or "") + plain
            i += len(plain)
    end_word()
    return commands


def unwrap(words):
    """Takes assignments, keywords, `sudo`, `env` and their kin off the front."""
    while words:
        name = os.path.basename(words[0])
        if words[0] in KEYWORDS or re.match(r"\w+=", words[0]):
            words = words[1:]
        elif name in WRAPPERS:
            words = words[1:]
            while words and words[0].startswith("-"):
                option, words = words[0], words[1:]
                with_value = option in LONG_WITH_VALUE or (
                    not option.startswith("--") and option[-1] in WRAPPERS[name]
                )
                words = words[1:] if with_value else words
            if name == "timeout":
                words = words[1:]  # the duration
        else:
            break
    return words


def resolve(path, here):
    """Returns the folder that `path` names, or whose whole content it names."""
    path = re.sub(r"^(~(?=/|$)|\$HOME\b|\$\{HOME\b[^}]*\})", lambda _: HOME, path)
    path = os.path.join(here, path)
    path = re.sub(r"/(\*|\.\*|\{\*,\.\*\}|\.\[[^]]*\]\*)$", "", path)
    return "/" + os.path.normpath(path.replace(QUOTED, "") or "/").lstrip("/")


def holds_too_much(folder):
    return folder in SYSTEM or folder == HOME or HOME.startswith(folder + "/")


def find_danger(text, here, depth=0):
    """Returns why `text` is dangerous when run in the folder `here`, or None."""
    if depth > 8:
        return "commands nested too deeply to check"
    for command in split(text):
        words = unwrap(command.words)
        name = os.path.basename(words[0]) if words else ""
        rest = words[1:]
        inner = list(command.inner)

        for path in command.writes:
            if DISK.match(path):
                return f"`> {path}` would overwrite a disk"
        if name == "rm":
            cut = rest.index("--") if "--" in rest else len(rest)
            options = [w for w in rest[:cut] if w.startswith("-")]
            recursive = any(
                len(w) > 3 and "--recursive".startswith(w) if w.startswith("--") else re.search("[rR]", w)
                for w in options
            )
            for path in rest[:cut] + rest[cut + 1 :] if recursive else []:
                if path not in options and holds_too_much(resolve(path, here)):
                    return f"`rm -r {path.replace(QUOTED, '')}` would destroy {resolve(path, here)}"
        elif name == "mkfs" or name.startswith("mkfs.") or name == "mke2fs":
            return f"`{name}` would format a disk"
        elif name == "dd":
            for path in (w[3:] for w in rest if w.startswith("of=")):
                if DISK.match(path):
                    return f"`dd of={path}` would overwrite a disk"
        elif name in ("tee", "shred", "wipefs", "blkdiscard"):
            for path in rest:
                if DISK.match(path):
                    return f"`{name} {path}` would overwrite a disk"
        elif name == "cd" and rest:
            here = resolve(rest[-1], here)
        elif name == "eval":
            inner.append(" ".join(rest))
        elif name in SHELLS or name == "su":
            inner += command.heredocs
            for i, w in enumerate(rest[:-1]):
                if re.fullmatch(r"-\w*c", w):
                    inner.append(rest[i + 1].replace(QUOTED, ""))

        for nested in inner:
            danger = find_danger(nested, here, depth + 1)
            if danger:
                return danger
    return None


def main():
    event = json.load(sys.stdin)
    command = event["tool_input"]["command"]
    if isinstance(command, list):
        command = shlex.join(command)
    danger = find_danger(command, event.get("work_dir") or os.getcwd())
    if danger:
        print(f"Dangerous command blocked: {danger}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
