# anyhook for Hermes Agent: passes events to `anyhook hook hermes` and does what it answers.
# Written by `anyhook install hermes`, removed by `anyhook uninstall hermes`.
import copy
import hashlib
import json
import os
import subprocess
import threading

BINARY = "@BINARY@"
ARGUMENTS = "@ARGUMENTS@"
# At the end of a session there may be less time.
END_ARGUMENTS = "@END_ARGUMENTS@"
# Exists while a guard that blocks on failure is installed.
MARKER = "@MARKER@"
# Hermes waits for a plugin without a limit.
LIMIT_MS = @LIMIT_MS@
END_LIMIT_MS = @END_LIMIT_MS@

MOST_ENTRIES = 1000
MOST_LETTERS = 500

_lock = threading.Lock()
# The sessions of subagents: the session that started each.
_parents = {}
# The sessions of tasks: a call from within a script names its task only.
_sessions = {}
# By session: what the model is told with the next result of a tool, or with the next prompt.
_untold = {}
# By call: what the model is told with its result, as it can be told nothing before.
_contexts = {}
# The sessions that were let go when they were about to stop, which is then not reported again.
_let_go = {}
# In each thread: the call that a decision was just made about, and the decision.
_latest = threading.local()


def _call(payload, words=ARGUMENTS, limit_ms=LIMIT_MS):
    """Sends one event; returns the answer, or {"failed": why} if there is none."""
    try:
        done = subprocess.run(
            [BINARY, *words],
            input=json.dumps(payload, default=str).encode(),
            capture_output=True,
            timeout=limit_ms / 1000,
        )
        if done.returncode < 0:
            return {"failed": f"killed by signal {-done.returncode}"}
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            return {"failed": said or f"exit {done.returncode}"}
        answer = json.loads(done.stdout) if done.stdout.strip() else {}
        return answer if isinstance(answer, dict) else {"failed": "the answer is no object"}
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer within {limit_ms} ms"}
    except Exception as error:
        return {"failed": str(error) or repr(error)}


def _refusal(failed):
    """Returns why a call is refused that was not answered; None if no guard requires an answer."""
    if MARKER and not os.path.exists(MARKER):
        return None
    return (
        f"anyhook did not answer ({failed}), and a guard that blocks on failure is installed, "
        "so this call is refused. To recover, in a terminal: run anyhook doctor to diagnose it, "
        "or anyhook install to restore the program"
        + (f"; without anyhook, rm -r {MARKER}" if MARKER else "")
    )


def _put(table, key, value):
    with _lock:
        if len(table) >= MOST_ENTRIES:
            table.clear()
        table[key] = value


def _tell(table, key, texts):
    """Adds texts that the model is told later."""
    texts = [text for text in texts if text]
    if texts:
        with _lock:
            known = table.pop(key, [])
            if len(table) >= MOST_ENTRIES:
                table.clear()
            table[key] = known + texts


def _own_session(event):
    session, task = event.get("session_id") or "", event.get("task_id") or ""
    if session and task and _sessions.get(task) != session:
        _put(_sessions, task, session)
    return session or _sessions.get(task, "")


def _of_session(session):
    """Returns the session that a person started, and which agent of it an event is about."""
    main = session
    for _ in range(MOST_ENTRIES):
        if main not in _parents:
            break
        main = _parents[main]
    return {"session_id": main, **({"agent_id": session} if main != session else {})}


def _folder(task):
    """Returns the folder that the tools of a task work in, which the commands of its shell change."""
    try:
        from tools.file_tools import _resolve_base_dir

        return str(_resolve_base_dir(task or "default"))
    except Exception:
        return os.getcwd()


def _ask(name, event, fields, **how):
    try:
        session = _of_session(_own_session(event))
        payload = {"hook_event_name": name, **session, "cwd": _folder(event.get("task_id")), **fields}
        return _call(payload, **how)
    except Exception as error:
        return {"failed": str(error) or repr(error)}


def _is_review():
    """Returns whether this is Hermes looking back on its work by itself, in the same session."""
    try:
        from hermes_cli import plugins

        return getattr(plugins._thread_tool_whitelist, "allowed", None) is not None
    except Exception:
        return False


def _is_on_its_own(event):
    """Returns whether no person takes part in this: it is a subagent, or a review."""
    return event.get("platform") == "subagent" or event.get("session_id") in _parents or _is_review()


def _text(content):
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and part.get("text"))


def _ask_about(tool, arguments, event):
    call = {"tool_name": tool, "tool_input": arguments, "tool_use_id": event.get("tool_call_id")}
    return _ask("pre_tool_call", event, call, words=[*ARGUMENTS, "--tool-event"])


def tool_request(tool_name="", args=None, **event):
    # This is the only place where arguments can be changed. What is decided here is done in the hook
    # that follows, which can deny and ask.
    answer = _ask_about(tool_name, args, event)
    changed = answer.get("input")
    if not isinstance(changed, dict) or answer.get("deny"):
        changed = None
    final = args if changed is None else changed
    # A copy: what another plugin changes in it afterwards must be seen.
    _latest.decision = (tool_name, event.get("tool_call_id"), copy.deepcopy(final), answer)
    return None if changed is None else {"args": changed, "source": "anyhook"}


def _decision(tool, arguments, event):
    decision, _latest.decision = getattr(_latest, "decision", None), None
    if decision and decision[:3] == (tool, event.get("tool_call_id"), arguments):
        return decision[3]
    # Another plugin has changed the call.
    answer = _ask_about(tool, arguments, event)
    if answer.get("input") is not None and not answer.get("deny"):
        return {"deny": "another plugin has changed this call, and a hook of anyhook would change it, too"}
    return answer


def _is_yolo():
    try:
        from tools import approval

        return approval._YOLO_MODE_FROZEN or approval.is_current_session_yolo_enabled()
    except Exception:
        return bool(os.environ.get("HERMES_YOLO_MODE"))


def _approval(tool, arguments, reason):
    if _is_yolo():
        # Hermes would say yes by itself.
        return {"action": "block", "message": f"{reason}\nNobody is asked, as Hermes runs with --yolo."}
    arguments = arguments if isinstance(arguments, dict) else {}
    about = next((arguments[key] for key in ("command", "code", "path") if arguments.get(key)), "")
    # "Always" is about the very same call only.
    call = json.dumps([tool, arguments, reason], default=str, sort_keys=True)
    return {
        "action": "approve",
        "message": f"{reason}\n\n{tool}: {str(about)[:MOST_LETTERS]}",
        "rule_key": "anyhook:" + hashlib.sha256(call.encode()).hexdigest(),
    }


def pre_tool_call(tool_name="", args=None, **event):
    # An exception here would let the call run.
    try:
        answer = _decision(tool_name, args, event)
    except Exception as error:
        answer = {"failed": str(error) or repr(error)}
    reason = _refusal(answer["failed"]) if "failed" in answer else answer.get("deny")
    if reason:
        return {"action": "block", "message": reason}
    call = event.get("tool_call_id")
    _tell(*((_contexts, call) if call else (_untold, _own_session(event))), [answer.get("context")])
    if answer.get("ask"):
        return _approval(tool_name, args, answer["ask"])
    return None


def _fields(result):
    try:
        fields = json.loads(result)
    except Exception:
        return {}
    return fields if isinstance(fields, dict) else {}


def post_tool_call(tool_name="", args=None, result=None, status="", **event):
    call = event.get("tool_call_id")
    texts = _contexts.pop(call, [])
    fields = _fields(result)
    if "blocked" in (status, fields.get("status")):
        # Nothing has run.
        return
    code = fields.get("exit_code")
    code = code if isinstance(code, int) else None
    answer = _ask(
        "post_tool_call",
        event,
        {
            "tool_name": tool_name,
            "tool_input": args,
            "tool_use_id": call,
            "tool_response": result,
            "is_error": status in ("error", "cancelled") or bool(code),
            "exit_code": code,
            "error": event.get("error_message"),
            "duration_ms": event.get("duration_ms"),
        },
    )
    _tell(_untold, _own_session(event), [*texts, answer.get("deny"), answer.get("context")])


def transform_tool_result(result=None, **event):
    # A script sees the results of the calls it makes; the model sees that of the script.
    if not event.get("tool_call_id") or not isinstance(result, str):
        return None
    texts = _untold.pop(_own_session(event), [])
    return "\n\n".join([result, *texts]) if texts else None


def on_session_start(**event):
    if not _is_on_its_own(event):
        answer = _ask("on_session_start", event, {"source": event.get("platform"), "model": event.get("model")})
        _tell(_untold, _own_session(event), [answer.get("context")])


def on_session_finalize(**event):
    end = {"words": END_ARGUMENTS, "limit_ms": END_LIMIT_MS}
    _ask("on_session_finalize", event, {"reason": event.get("reason")}, **end)


def pre_llm_call(user_message=None, **event):
    if _is_on_its_own(event):
        return None
    session = _own_session(event)
    _let_go.pop(session, None)
    answer = _ask("pre_llm_call", event, {"prompt": _text(user_message)})
    texts = [*_untold.pop(session, []), *filter(None, [answer.get("context")])]
    return {"context": "\n\n".join(texts)} if texts else None


def pre_verify(final_response=None, attempt=0, **event):
    if _is_on_its_own(event):
        return None
    stop = {"last_assistant_message": _text(final_response), "stop_hook_active": attempt > 0}
    answer = _ask("pre_verify", event, stop)
    if answer.get("deny"):
        return {"action": "continue", "message": answer["deny"]}
    _put(_let_go, _own_session(event), True)
    return None


def post_llm_call(assistant_response=None, **event):
    if not _is_on_its_own(event) and not _let_go.pop(_own_session(event), False):
        _ask("post_llm_call", event, {"last_assistant_message": _text(assistant_response)})


def subagent_start(parent_session_id=None, child_session_id=None, child_role=None, **event):
    if parent_session_id and child_session_id:
        _put(_parents, child_session_id, parent_session_id)
    _ask("subagent_start", {"session_id": child_session_id}, {"agent_type": child_role})


def subagent_stop(child_session_id=None, child_role=None, child_summary=None, **event):
    end = {"agent_type": child_role, "last_assistant_message": _text(child_summary)}
    _ask("subagent_stop", {"session_id": child_session_id}, end)


def pre_approval_request(description="", surface="", **event):
    # A model is asked first; that is no question to a person.
    if surface == "smart":
        return
    session = event.get("session_id") or (event.get("turn_id") or "").split(":")[0]
    question = {"notification_type": "permission_prompt", "message": description}
    _ask("pre_approval_request", {**event, "session_id": session}, question)


def register(ctx):
    ctx.register_middleware("tool_request", tool_request)
    for hook in (
        pre_tool_call,
        post_tool_call,
        transform_tool_result,
        on_session_start,
        on_session_finalize,
        pre_llm_call,
        pre_verify,
        post_llm_call,
        subagent_start,
        subagent_stop,
        pre_approval_request,
    ):
        ctx.register_hook(hook.__name__, hook)
