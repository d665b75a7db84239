#!/usr/bin/env python3
"""A small agent that anyhook guards, in one file without dependencies.

    MODEL_URL=http://127.0.0.1:8080/v1 python3 agent.py "make the tests pass"

It has three tools and speaks to any model with an OpenAI-compatible API. Each step is an event that
anyhook decides on: in a process for each event (`anyhook hook agent-hooks`), or, with --serve, in one
process for all of them (`anyhook serve --stdio`, by way of clients/python).

docs/guide/connect-an-agent.md explains it.
"""

import json
import os
import subprocess
import sys
import urllib.request
import uuid
from pathlib import Path

MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:8080/v1")
MODEL = os.environ.get("MODEL", "any")
ANYHOOK = os.environ.get("ANYHOOK_BIN", "anyhook")
DEADLINE_MS = 60_000
MAX_REQUESTS = 50


class Hooks:
    """Asks anyhook. Without an answer there is no verdict, and `decide` says so."""

    def __init__(self, serve):
        self.session = str(uuid.uuid4())
        self.client = None
        if serve:
            sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python"))
            from anyhook import Anyhook

            self.client = Anyhook(ANYHOOK, on_error="block")

    def decide(self, event_type, **fields):
        """Returns the verdict on an event: a dictionary, empty if no hook has an opinion."""
        event = {"event_type": event_type, "session_id": self.session, "work_dir": os.getcwd(), **fields}
        if self.client is not None:
            verdict = self.client.decide(event, timeout=DEADLINE_MS / 1000)
            for message in verdict.messages:
                print(f"note: {message}", file=sys.stderr)
            return {name: value for name, value in vars(verdict).items() if value}
        command = [ANYHOOK, "hook", "agent-hooks", "--deadline-ms", str(DEADLINE_MS)]
        if "tool_name" in fields:
            command.append("--tool-event")
        try:
            ran = subprocess.run(command, input=json.dumps(event), text=True, capture_output=True, timeout=2 * DEADLINE_MS / 1000)
        except (OSError, subprocess.TimeoutExpired) as error:
            return {"decision": "deny", "reason": f"anyhook could not be asked: {error}"}
        if ran.returncode not in (0, 2):
            return {"decision": "deny", "reason": f"anyhook could not decide: {ran.stderr.strip()}"}
        verdict = json.loads(ran.stdout or "{}")
        if ran.returncode == 2:
            verdict.setdefault("reason", ran.stderr.strip())
            verdict["decision"] = "deny"
        elif ran.stderr:
            print(ran.stderr, end="", file=sys.stderr)
        return verdict

    def close(self):
        if self.client is not None:
            self.client.close()


def shell(command):
    ran = subprocess.run(["sh", "-c", command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if ran.returncode:
        raise RuntimeError(f"{ran.stdout}exit code {ran.returncode}")
    return ran.stdout


def write_file(path, content):
    Path(path).write_text(content)
    return f"wrote {len(content)} characters"


# The canonical names, so that hooks which others wrote match.
TOOLS = {
    "Shell": (shell, {"command": "string"}),
    "ReadFile": (lambda path: Path(path).read_text(), {"path": "string"}),
    "WriteFile": (write_file, {"path": "string", "content": "string"}),
}


def ask_model(messages):
    """Returns the model's next message."""
    tools = [
        {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {
                    "type": "object",
                    "properties": {field: {"type": kind} for field, kind in fields.items()},
                    "required": list(fields),
                },
            },
        }
        for name, (_, fields) in TOOLS.items()
    ]
    body = json.dumps({"model": MODEL, "messages": messages, "tools": tools}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('MODEL_KEY', 'none')}"}
    request = urllib.request.Request(f"{MODEL_URL}/chat/completions", body, headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


def is_approved(call, verdict):
    """Asks the person; nobody at a terminal means no."""
    if not sys.stdin.isatty():
        return False
    return input(f"{call}\n{verdict.get('reason', '')}\nrun it? [y/N] ").strip() == "y"


def run_tool(hooks, name, arguments, use_id):
    """Runs a tool call if no hook denies it, and returns what the model is told."""
    try:
        tool_input = dict(json.loads(arguments).items())
    except (ValueError, AttributeError):  # No hook could judge it, so it does not run.
        return "not run: its arguments are not a JSON object"
    call = {"tool_name": name, "tool_input": tool_input, "tool_use_id": use_id}
    verdict = hooks.decide("before_tool", **call)
    notes = [verdict.get("additional_context")]
    decision = verdict.get("decision")
    if decision == "deny" or (decision == "ask" and not is_approved(call, verdict)):
        return "\n".join(filter(None, [f"not run: {verdict.get('reason', 'a person must approve it')}", *notes]))
    # The complete input, after all changes.
    call["tool_input"] = verdict.get("modified_input", tool_input)
    try:
        output = TOOLS[name][0](**call["tool_input"])
        verdict = hooks.decide("after_tool", tool_output=output, **call)
    except Exception as error:  # The model is told, whatever it is.
        output = f"failed: {error}"
        verdict = hooks.decide("after_tool_failure", error=str(error), **call)
    if verdict.get("decision") == "deny":
        notes.append(verdict.get("reason"))
    notes.append(verdict.get("additional_context"))
    return "\n".join(filter(None, [output, *notes]))


def work(hooks, prompt):
    """Has the model work on a prompt; returns its final message."""
    messages = []
    for event, fields in [("session_start", {"model": MODEL}), ("before_agent", {"prompt": prompt})]:
        verdict = hooks.decide(event, **fields)
        if verdict.get("decision") == "deny":
            sys.exit(f"stopped: {verdict.get('reason')}")
        if verdict.get("additional_context"):
            messages.append({"role": "system", "content": verdict["additional_context"]})
    messages.append({"role": "user", "content": prompt})
    for _ in range(MAX_REQUESTS):
        answer = ask_model(messages)
        messages.append(answer)
        if not answer.get("tool_calls"):
            final = {"stop_reason": "no_tool_calls", "final_message": {"role": "assistant", "content": answer["content"]}}
            verdict = hooks.decide("before_stop", **final)
            if verdict.get("decision") != "deny":
                hooks.decide("after_agent", final_message=final["final_message"])
                hooks.decide("after_stop", **final)
                return answer["content"]
            messages.append({"role": "user", "content": verdict.get("reason", "you are not done")})
        for call in answer.get("tool_calls") or []:
            function = call["function"]
            told = run_tool(hooks, function["name"], function["arguments"], call["id"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})
    return f"gave up after {MAX_REQUESTS} requests"


def main(arguments):
    serve = "--serve" in arguments
    prompt = " ".join(word for word in arguments if word != "--serve")
    hooks = Hooks(serve)
    reason = "failed"
    try:
        print(work(hooks, prompt))
        reason = "done"
    finally:  # However it ends.
        hooks.decide("session_end", exit_reason=reason)
        hooks.close()


if __name__ == "__main__":
    main(sys.argv[1:])
