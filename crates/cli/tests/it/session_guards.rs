//! A session's guards do not shrink, told with the real program.

use std::fs;
use std::path::Path;

use anyhook_testkit::{CommandRun, TestEnv, run, write};
use serde_json::{Value, json};

use crate::environment;

const GUARD: &str = "trigger: before_tool\non_failure: block\nmatcher:\n  pattern: mkfs";
const DENY: &str = "echo 'not here' >&2; exit 2";

fn claude(environment: &TestEnv, event: &str, more: &Value) -> CommandRun {
    let mut payload = json!({
        "hook_event_name": event, "session_id": "s", "cwd": environment.project(),
    });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let ran = environment.run_with_input(&["hook", "claude-code"], payload.to_string());
    assert_eq!(ran.stderr, "", "{ran:?}");
    ran
}

fn shell(environment: &TestEnv, command: &str) -> CommandRun {
    let call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t"});
    claude(environment, "PreToolUse", &call)
}

/// Returns the decision and its reason, up to the journal's id.
fn decision(ran: &CommandRun) -> (String, String) {
    if ran.stdout.is_empty() {
        return (String::new(), String::new());
    }
    let said = &ran.json()["hookSpecificOutput"];
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    let reason = text("permissionDecisionReason");
    (text("permissionDecision"), reason.split("\n(anyhook").next().unwrap().to_owned())
}

/// Returns what the person is told, if anything.
fn message(ran: &CommandRun) -> String {
    if ran.stdout.is_empty() {
        return String::new();
    }
    ran.json()["systemMessage"].as_str().unwrap_or_default().to_owned()
}

fn denied() -> (String, String) {
    ("deny".to_owned(), "not here".to_owned())
}

#[test]
fn a_guard_moved_to_shadow_is_told_of_and_goes_on_denying() {
    let environment = environment();
    let folder = environment.user_hook("guard", GUARD, DENY);
    assert_eq!(shell(&environment, "ls").stdout, "");
    let file = folder.join("HOOK.md");
    let text = fs::read_to_string(&file).unwrap();
    write(&file, text.replace("on_failure: block", "on_failure: block\nmode: shadow"), 0o644);
    let after = shell(&environment, "ls");
    let words = "guard guard changed during this session: it was switched to `mode: shadow`. The previous version stays in force alongside the new one until `anyhook reload` or a new session.";
    assert_eq!(message(&after), format!("anyhook: {words}"));
    assert_eq!(after.json()["hookSpecificOutput"]["additionalContext"], words);
    let record = environment.journal().pop().unwrap();
    let alarm = json!([{"kind": "guard_changed", "hook": "guard", "text": words}]);
    assert_eq!(record["alarms"], alarm);

    let denied_call = shell(&environment, "mkfs /dev/sda");
    assert_eq!(decision(&denied_call), denied());
    assert_eq!(message(&denied_call), "", "it is told once");
    let record = environment.journal().pop().unwrap();
    assert_eq!(record["verdict"]["by"], "guard (remembered)");

    // Another session has what is there now.
    let call = json!({"session_id": "other", "tool_name": "Bash", "tool_use_id": "t",
        "tool_input": {"command": "mkfs"}});
    let other = claude(&environment, "PreToolUse", &call);
    assert_eq!(other.stdout, "");

    let reload = environment.run(&["reload"]);
    assert_eq!(reload.code, 0, "{reload:?}");
    assert_eq!(shell(&environment, "mkfs /dev/sda").stdout, "");
}

#[test]
fn a_guard_that_is_removed_by_hand_stays_and_by_command_goes() {
    let environment = environment();
    let folder = environment.user_hook("guard", GUARD, DENY);
    shell(&environment, "ls");
    let away = environment.root().join("away");
    fs::rename(&folder, &away).unwrap();
    assert_eq!(decision(&shell(&environment, "mkfs /dev/sda")), denied());
    fs::rename(&away, &folder).unwrap();
    assert_eq!(decision(&shell(&environment, "mkfs /dev/sda")), denied());
    assert_eq!(environment.journal().pop().unwrap()["verdict"]["by"], "guard");
    let removed = environment.run(&["remove", "guard"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(shell(&environment, "mkfs /dev/sda").stdout, "");
}

#[test]
fn a_script_that_is_replaced_does_not_decide_alone() {
    let environment = environment();
    let folder = environment.user_hook("guard", GUARD, DENY);
    shell(&environment, "ls");
    write(&folder.join("scripts/run"), "#!/bin/sh\nexit 0\n", 0o755);
    assert_eq!(decision(&shell(&environment, "mkfs /dev/sda")), denied());
    // A person who works on a guard sees the new one at once, beside the old one.
    write(&folder.join("scripts/run"), "#!/bin/sh\necho newer >&2; exit 2\n", 0o755);
    let (decision, reason) = decision(&shell(&environment, "mkfs /dev/sda"));
    assert_eq!((decision.as_str(), reason.as_str()), ("deny", "newer"));
}

/// What is large is read in part only if no hook can match, be it one that is remembered.
#[test]
fn a_remembered_guard_sees_all_of_a_large_call() {
    let environment = environment();
    let folder = environment.user_hook("guard", GUARD, DENY);
    shell(&environment, "ls");
    fs::remove_dir_all(folder).unwrap();
    let large = format!("{} mkfs {}", "x".repeat(200_000), "y".repeat(200_000));
    assert_eq!(decision(&shell(&environment, &large)), denied());
}

#[test]
fn entries_taken_out_of_settings_are_told_of() {
    let environment = environment();
    let installed = environment.run(&["install", "claude-code"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    shell(&environment, "ls");
    let settings = environment.home().join(".claude/settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["theme"] = "dark".into();
    fs::write(&settings, value.to_string()).unwrap();
    assert_eq!(shell(&environment, "ls").stdout, "", "ours are still there");
    value["hooks"].as_object_mut().unwrap().remove("PreToolUse");
    fs::write(&settings, value.to_string()).unwrap();
    let told = message(&shell(&environment, "ls"));
    assert_eq!(
        environment.normal(&told),
        "anyhook: anyhook's entries were removed from `[ROOT]/home/.claude/settings.json` during this session: claude-code no longer asks about every call. Restore them: anyhook install claude-code"
    );
    assert_eq!(message(&shell(&environment, "ls")), "");
}

#[test]
fn hooks_that_are_off_are_told_of_when_a_session_starts() {
    let environment = environment();
    let start = json!({"source": "startup"});
    assert_eq!(claude(&environment, "SessionStart", &start).stdout, "", "all is well");
    environment.project_hook("ours", "trigger: before_tool", "exit 0");
    let broken = environment.user_hook("broken", "trigger: before_tool", "exit 0");
    fs::remove_dir_all(broken.join("scripts")).unwrap();
    let begin = |session: &str| json!({"source": "startup", "session_id": session});
    let told = claude(&environment, "SessionStart", &begin("two"));
    assert_eq!(
        message(&told),
        "anyhook: 1 hook is off, not trusted, so it won't run: ours (anyhook trust)\n1 hook is off, unusable: broken (anyhook check)"
    );
    assert_eq!(claude(&environment, "SessionStart", &begin("two")).stdout, "", "once a session");

    // An agent that cannot show anything then is told with the result of its first call.
    let opencode = |payload: &Value| {
        environment.run_with_input(&["hook", "opencode"], payload.to_string()).stdout
    };
    let directory = environment.project();
    let created = json!({"hook": "session.created", "directory": directory, "event":
        {"type": "session.created", "properties": {"info": {"id": "o"}}}});
    assert!(!opencode(&created).contains("is off"));
    let before = json!({"hook": "tool.execute.before", "directory": directory,
        "input": {"tool": "bash", "sessionID": "o", "callID": "c"},
        "output": {"args": {"command": "ls"}}});
    assert!(!opencode(&before).contains("is off"));
    let after = json!({"hook": "tool.execute.after", "directory": directory,
        "input": {"tool": "bash", "sessionID": "o", "callID": "c", "args": {"command": "ls"}},
        "output": {"title": "", "output": "x", "metadata": {}}});
    let told = opencode(&after);
    assert!(told.contains("1 hook is off, not trusted, so it won't run: ours"), "{told}");
    assert!(!opencode(&after).contains("is off"));
}

/// Sends Codex an event and returns what it is told.
fn codex(environment: &TestEnv, event: &str, more: &Value) -> String {
    let mut payload = json!({
        "hook_event_name": event, "session_id": "c", "cwd": environment.project(),
    });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    environment.run_with_input(&["hook", "codex"], payload.to_string()).stdout
}

#[test]
fn codex_shows_which_hooks_are_off() {
    let environment = environment();
    environment.project_hook("ours", "trigger: before_tool", "exit 0");
    let told = codex(&environment, "SessionStart", &json!({"source": "startup"}));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        told["systemMessage"],
        "anyhook: 1 hook is off, not trusted, so it won't run: ours (anyhook trust)"
    );
}

/// The entry for calls was taken out before the session began, or every call was killed.
#[test]
fn a_call_is_an_alarm_where_none_of_its_turn_was_asked_about() {
    let environment = environment();
    codex(&environment, "SessionStart", &json!({"source": "startup"}));
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "curl evil"},
        "tool_use_id": "t", "tool_response": "x"});
    let told = codex(&environment, "PostToolUse", &call);
    assert!(told.contains("ran unchecked: codex ran `Shell curl evil`"), "{told}");
}

#[test]
fn a_call_that_nobody_was_asked_about_is_an_alarm() {
    let environment = environment();
    let call = |event: &str, id: &str, command: &str| {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": command},
            "tool_use_id": id, "tool_response": {}});
        claude(&environment, event, &call)
    };
    // Hooks that were installed in the middle of a session have not seen its first calls.
    assert_eq!(call("PostToolUse", "t0", "ls").stdout, "");
    call("PreToolUse", "t1", "ls");
    assert_eq!(call("PostToolUse", "t1", "ls").stdout, "");
    let unasked = call("PostToolUse", "t2", "curl evil");
    let record = environment.journal().pop().unwrap();
    let words = format!(
        "ran unchecked: claude-code ran `Shell curl evil` without sending before_tool (anyhook log show {})",
        record["id"].as_str().unwrap()
    );
    assert_eq!(message(&unasked), format!("anyhook: {words}"));
    assert_eq!(record["alarms"], json!([{"kind": "ran_unasked", "text": words}]));
    let failed = call("PostToolUseFailure", "t3", "curl worse");
    assert!(message(&failed).contains("ran unchecked"), "{failed:?}");
    let log = environment.run(&["log"]).stdout;
    assert_eq!(log.matches("ALARM").count(), 2, "{log}");
    let doctor = environment.run(&["doctor"]).stdout;
    assert!(doctor.contains(&words), "{doctor}");
    let start = json!({"source": "startup", "session_id": "next"});
    let next = message(&claude(&environment, "SessionStart", &start));
    assert!(next.contains(&words) && next.contains("curl worse"), "{next}");
}

/// An engine that is killed has not asked.
#[test]
fn a_killed_engine_leaves_a_call_unasked() {
    let environment = environment();
    environment.user_hook(
        "killer",
        "trigger: before_tool\nmatcher:\n  pattern: kill-it",
        "kill -9 $PPID",
    );
    shell(&environment, "ls");
    let call = json!({"hook_event_name": "BeforeTool", "session_id": "g",
        "cwd": environment.project(), "tool_name": "run_shell_command",
        "tool_input": {"command": "ls"}});
    let gemini = |event: &str, command: &str| {
        let mut call = call.clone();
        call["hook_event_name"] = event.into();
        call["tool_input"]["command"] = command.into();
        call["tool_response"] = json!({"llmContent": "x"});
        environment.run_with_input(&["hook", "gemini-cli"], call.to_string())
    };
    gemini("BeforeTool", "ls");
    assert_eq!(gemini("AfterTool", "ls").stdout, "");
    let killed = gemini("BeforeTool", "kill-it");
    assert_eq!(killed.code, 137, "{killed:?}");
    let after = gemini("AfterTool", "kill-it").stdout;
    assert!(after.contains("ran unchecked: gemini-cli ran `Shell kill-it`"), "{after}");
}

#[test]
fn reload_is_for_people() {
    let environment = environment();
    let mut command = environment.command(&["reload"]);
    command.env("CLAUDECODE", "1");
    let ran = run(command, b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(!environment.state().join("accepted").exists());
}

/// An event of another project meets that project's guards as well; when the session goes back,
/// they have not vanished.
#[test]
fn guards_of_another_project_come_and_go() {
    let environment = environment();
    let (project, other) = (environment.project(), environment.home().join("other"));
    fs::create_dir_all(other.join(".git")).unwrap();
    environment.user_hook("user", GUARD, DENY);
    let pinned = environment.project_hook("pinned", &GUARD.replace("mkfs", "reboot"), DENY);
    let guard = GUARD.replace("mkfs", "shred");
    environment.hook(&other.join(".agents/hooks"), "others", &guard, DENY);
    for folder in [&project, &other] {
        let mut command = environment.command(&["trust", "--all"]);
        command.current_dir(folder);
        assert_eq!(run(command, b"").code, 0);
    }
    let call = |folder: &Path, command: &str| {
        let input = json!({"command": command});
        let call =
            json!({"cwd": folder, "tool_name": "Bash", "tool_input": input, "tool_use_id": "t"});
        claude(&environment, "PreToolUse", &call)
    };
    for _ in 0..3 {
        assert_eq!(call(&project, "shred x").stdout, "");
        for command in ["mkfs", "reboot", "shred x"] {
            let ran = call(&other, command);
            assert_eq!((decision(&ran), message(&ran)), (denied(), String::new()), "{command}");
        }
        assert_eq!(decision(&call(&project, "reboot")), denied());
    }
    let alarms = environment.journal().iter().filter(|record| !record["alarms"].is_null()).count();
    assert_eq!(alarms, 0);

    // A guard of the session that vanishes while it works elsewhere is told of, and goes on deciding.
    fs::remove_dir_all(pinned).unwrap();
    let ran = call(&other, "ls");
    assert!(message(&ran).contains("guard pinned changed during this session"), "{ran:?}");
    assert_eq!(decision(&call(&other, "reboot")).0, "deny");
    assert_eq!(decision(&call(&other, "shred x")), denied());
}
