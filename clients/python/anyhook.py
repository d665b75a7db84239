"""Ask anyhook before an agent acts: a client of `anyhook serve --stdio`.

    with Anyhook() as hooks:
        verdict = hooks.decide(before_tool("Shell", {"command": "rm -rf /"}))
        if verdict.blocked: ...

One file, no dependencies, Python 3.9 or later. Threads may share one `Anyhook`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import threading
from concurrent.futures import Future, TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from subprocess import PIPE, Popen
from typing import Any, Dict, List, Mapping, Optional, Union

PROTOCOL = 1


class AnyhookError(Exception):
    """anyhook could not be asked, or refused the request; `code` says which, for programs."""

    def __init__(self, code: str, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message if hint is None else f"{message} (hint: {hint})")
        self.code, self.hint = code, hint


@dataclass(frozen=True)
class Verdict:
    """What all hooks say together. `decision` is None when nobody has an opinion: not "allow"."""

    decision: Optional[str] = None
    reason: Optional[str] = None
    modified_input: Optional[Dict[str, Any]] = None
    additional_context: Optional[str] = None
    id: Optional[str] = None
    messages: List[str] = field(default_factory=list)

    @property
    def blocked(self) -> bool:
        """The operation must not go on."""
        return self.decision == "deny"


@dataclass(frozen=True)
class Reply:
    """What an agent's program is to be told, as if it had called `anyhook hook` itself."""

    exit_code: int
    stdout: str
    stderr: str


def before_tool(tool: str, tool_input: Mapping[str, Any], **fields: Any) -> Dict[str, Any]:
    """Makes a `before_tool` event; further fields are such as `session_id` or `work_dir`."""
    return {"event_type": "before_tool", "tool_name": tool, "tool_input": tool_input, **fields}


class Anyhook:
    """Asks anyhook. The program is `binary`, else `ANYHOOK_BIN`, else `anyhook` on PATH.

    `on_error` says what becomes of an event if anyhook cannot be asked: "raise" (AnyhookError),
    "allow" (a verdict without an opinion) or "block".
    """

    def __init__(self, binary: Optional[str] = None, *, on_error: str = "raise") -> None:
        if on_error not in ("raise", "allow", "block"):
            raise ValueError("on_error is one of: raise, allow, block")
        self.binary = binary or os.environ.get("ANYHOOK_BIN") or "anyhook"
        self.on_error, self._lock = on_error, threading.Lock()
        self._process: Optional[_Process] = None

    def decide(self, event: Mapping[str, Any], timeout: Optional[float] = None) -> Verdict:
        """Returns the verdict on an event. Hooks not done after `timeout` seconds have failed."""
        try:
            answer = self._ask({"event": event}, timeout)
        except AnyhookError as error:
            if self.on_error == "raise":
                raise
            words = f"anyhook could not be asked: {error}"
            return Verdict("deny", words) if self.on_error == "block" else Verdict(messages=[words])
        return Verdict(**answer["verdict"], messages=answer.get("messages", []))

    async def decide_async(self, event: Mapping[str, Any], timeout: Optional[float] = None) -> Verdict:
        """Does the same for asyncio."""
        return await asyncio.to_thread(self.decide, event, timeout)

    def forward(self, host: str, payload: Union[str, Mapping[str, Any]], timeout: Optional[float] = None) -> Reply:
        """Returns what an agent is to be told that sent its own payload."""
        reply = self._ask({"host": host, "payload": payload}, timeout)["reply"]
        return Reply(reply["exit_code"], reply["stdout"], reply["stderr"])

    def close(self) -> None:
        """Ends anyhook, when everything in flight has been answered."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.close()

    def __enter__(self) -> Anyhook:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: Dict[str, Any], timeout: Optional[float]) -> Dict[str, Any]:
        # anyhook answers in time itself; a second more shows that it does not.
        wait = None if timeout is None else timeout + 1
        request["deadline_ms"] = None if timeout is None else int(timeout * 1000)
        try:
            answer = self._running().ask(request, wait)
        except AnyhookError as error:
            if error.code != "died":
                raise
            answer = self._running().ask(request, wait)
        if "error" in answer:
            raise AnyhookError(**answer["error"])
        return answer

    def _running(self) -> _Process:
        with self._lock:
            if self._process is None or self._process.dead:
                program = shutil.which(self.binary)
                if program is None:
                    raise AnyhookError("not_found", f"there is no `{self.binary}`", "set ANYHOOK_BIN")
                self._process = _Process(program)
            return self._process


class _Process:
    """One running `anyhook serve`, and who waits for which answer."""

    def __init__(self, program: str) -> None:
        self.lock, self.writing, self.number, self.dead = threading.Lock(), threading.Lock(), 0, False
        self.waiting: Dict[int, Future[Dict[str, Any]]] = {}
        try:
            self.child = Popen([program, "serve", "--stdio"], stdin=PIPE, stdout=PIPE)
        except OSError as error:
            raise AnyhookError("not_started", f"`{program}` cannot be started: {error}") from error
        assert self.child.stdin is not None and self.child.stdout is not None
        self.stdin, self.stdout = self.child.stdin, self.child.stdout
        if f'"protocol": {PROTOCOL}}}'.encode() not in self.stdout.readline():
            self.stdout.close()
            self.close()
            raise AnyhookError("protocol", f"`{program}` does not serve protocol {PROTOCOL}")
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, request: Mapping[str, Any], wait: Optional[float]) -> Dict[str, Any]:
        future: Future[Dict[str, Any]] = Future()
        with self.lock:
            if self.dead:
                raise AnyhookError("died", "anyhook has ended")
            self.number = number = self.number + 1
            self.waiting[number] = future
        try:
            self._write({"id": number, **request})
            return future.result(wait)
        except FutureTimeout:
            self._write({"cancel": number})
            raise AnyhookError("timeout", f"anyhook has not answered within {wait} s") from None
        finally:
            with self.lock:
                self.waiting.pop(number, None)

    def _write(self, message: Mapping[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        try:
            with self.writing:
                self.stdin.write(line)
                self.stdin.flush()
        except (OSError, ValueError):
            self.dead = True
            raise AnyhookError("died", "anyhook has ended") from None

    def _read(self) -> None:
        for line in self.stdout:
            answer = json.loads(line)
            with self.lock:
                future = self.waiting.pop(answer["id"], None)
            if future is not None:
                future.set_result(answer)
        with self.lock:
            self.dead, left = True, list(self.waiting.values())
        for future in left:
            future.set_exception(AnyhookError("died", "anyhook has ended"))
        self.stdout.close()
        self.close()

    def close(self) -> None:
        # Who is gone already cannot be told that no more will come.
        with self.writing, contextlib.suppress(OSError):
            self.stdin.close()
        self.child.wait()
