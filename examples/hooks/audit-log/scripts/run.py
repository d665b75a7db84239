#!/usr/bin/env python3
"""Appends one JSON line about the session that has ended."""

import json
import os
import sys


def main():
    event = json.load(sys.stdin)
    line = {
        "at": event.get("timestamp"),
        "session": event.get("session_id"),
        "duration_seconds": event.get("duration_seconds"),
        "total_steps": event.get("total_steps"),
        "exit_reason": event.get("exit_reason"),
    }
    path = os.environ.get("AUDIT_LOG") or ".agents/audit.log"
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    # One write in append mode: lines of sessions that end together do not mix.
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(log, (json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
    os.close(log)


if __name__ == "__main__":
    main()
