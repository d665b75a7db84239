//! Events: names, own fields, counters, triggers.

use std::time::Duration;

use anyhook_testkit::write;
use serde_json::{Value, json};

use super::{
    BLOCK, MARK, finding, last_record, last_skip, left, listed, raw_hook, seen, tool, written,
};
use crate::in_process::environment;

/// The canonical name, the alias and the own fields of each event.
const EVENTS: [(&str, Option<&str>, &[&str]); 15] = [
    ("session_start", Some("pre-session"), &["model", "args"]),
    ("session_end", Some("post-session"), &["duration_seconds", "total_steps", "exit_reason"]),
    ("before_agent", Some("pre-agent-turn"), &["prompt"]),
    ("after_agent", Some("post-agent-turn"), &["final_message"]),
    ("before_stop", Some("pre-agent-turn-stop"), &["stop_reason", "step_count", "final_message"]),
    ("after_stop", Some("post-agent-turn-stop"), &["stop_reason", "step_count", "final_message"]),
    (
        "before_tool",
        Some("pre-tool-call"),
        &["tool_name", "tool_input", "tool_use_id", "files", "native"],
    ),
    (
        "after_tool",
        Some("post-tool-call"),
        &[
            "tool_name",
            "tool_input",
            "tool_use_id",
            "files",
            "native",
            "tool_output",
            "duration_ms",
        ],
    ),
    (
        "after_tool_failure",
        Some("post-tool-call-failure"),
        &[
            "tool_name",
            "tool_input",
            "tool_use_id",
            "files",
            "native",
            "tool_output",
            "duration_ms",
            "error",
        ],
    ),
    (
        "subagent_start",
        Some("pre-subagent"),
        &["subagent_name", "subagent_type", "task_description"],
    ),
    (
        "subagent_stop",
        Some("post-subagent"),
        &["subagent_name", "subagent_type", "task_description", "final_message"],
    ),
    ("pre_compact", Some("pre-context-compact"), &["trigger"]),
    ("post_compact", Some("post-context-compact"), &["trigger"]),
    ("notification", None, &["kind", "message"]),
    ("permission_request", None, &["tool_name", "tool_input", "tool_use_id", "files", "native"]),
];

/// The names of all events, in every spelling.
fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    EVENTS.iter().flat_map(|(name, alias, _)| {
        [Some(*name), *alias].into_iter().flatten().map(move |spelling| (*name, spelling))
    })
}

#[test]
fn every_event_is_taken_in_both_spellings_and_shown_in_the_hooks_own() {
    let environment = environment();
    let script = "cat > \"$ANYHOOK_HOOK_NAME.json\"; printf %s \"$ANYHOOK_EVENT\" > \"$ANYHOOK_HOOK_NAME.event\"";
    for (_, spelling) in names() {
        let name = spelling.replace('_', "-");
        environment.user_hook(&format!("at-{name}"), &format!("trigger: {spelling}"), script);
    }
    for (name, sent) in names() {
        assert_eq!(environment.event(&json!({"event_type": sent})).code, 0);
        for (_, spelling) in names().filter(|(other, _)| *other == name) {
            let file = format!("at-{}", spelling.replace('_', "-"));
            let event = written(&environment, &format!("{file}.event"));
            assert_eq!(event, spelling, "sent as {sent}");
            let shown: Value =
                serde_json::from_str(&written(&environment, &format!("{file}.json"))).unwrap();
            assert_eq!(shown["event_type"], spelling, "sent as {sent}");
            std::fs::remove_file(environment.project().join(format!("{file}.event"))).unwrap();
        }
        let others = std::fs::read_dir(environment.project()).unwrap().flatten();
        let others = others.filter(|file| file.path().extension() == Some("event".as_ref()));
        assert_eq!(others.count(), 0, "{sent} woke hooks of other events");
    }
}

#[test]
fn own_fields_that_are_not_told_are_null_and_stand_in_order() {
    let environment = environment();
    for (name, _, own) in EVENTS {
        environment.user_hook("look", &format!("trigger: {name}"), "cat > seen.json");
        environment.event(&json!({"event_type": name}));
        let shown = seen(&environment);
        let keys: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        let base = ["event_type", "timestamp", "session_id", "work_dir"];
        let expected: Vec<&str> = base.iter().chain(own).chain(&["context"]).copied().collect();
        assert_eq!(keys, expected, "{name}");
        // The tool's name and input have a test of their own.
        for field in own.iter().filter(|field| !["tool_name", "tool_input"].contains(field)) {
            assert_eq!(shown[*field], Value::Null, "{name}: {field}");
        }
        assert_eq!(shown["context"], json!({}), "{name}");
    }
}

#[test]
fn a_tool_name_and_input_that_are_not_told_are_null_and_not_invented() {
    let environment = environment();
    environment.user_hook("look", "trigger: before_tool", "cat > seen.json");
    environment.event(&json!({"event_type": "before_tool"}));
    assert_eq!(seen(&environment)["tool_name"], Value::Null);
    assert_eq!(seen(&environment)["tool_input"], Value::Null);
}

#[test]
fn own_fields_that_are_told_come_through_as_they_are() {
    let environment = environment();
    for (name, _, own) in EVENTS {
        environment.user_hook("look", &format!("trigger: {name}"), "cat > seen.json");
        let value = |field: &str| match field {
            "tool_name" | "tool_use_id" | "prompt" => json!(format!("a {field}")),
            "native" => json!({"tool_name": "Bash", "tool_input": {"cmd": "ls"}}),
            "files" => json!(["/a", "/b"]),
            _ => json!({"role": "x", "of": [field, 1, null]}),
        };
        let mut event = json!({"event_type": name});
        for field in own {
            event[*field] = value(field);
        }
        environment.event(&event);
        let shown = seen(&environment);
        for field in own {
            assert_eq!(shown[*field], value(field), "{name}: {field}");
        }
    }
}

#[test]
fn a_hook_can_block_at_every_event() {
    let environment = environment();
    for (name, _, _) in EVENTS {
        environment.user_hook("guard", &format!("trigger: {name}"), BLOCK);
        let ran = environment.event(&json!({"event_type": name, "session_id": name}));
        assert_eq!(ran.code, 2, "{name}: {ran:?}");
        assert_eq!(ran.json()["decision"], "deny", "{name}");
        assert_eq!(ran.json()["reason"], "no", "{name}");
    }
}

#[test]
fn allow_at_a_permission_request_grants_it() {
    let environment = environment();
    environment.user_hook(
        "grant",
        "trigger: permission_request",
        "echo '{\"decision\": \"allow\", \"reason\": \"known\"}'",
    );
    let ran = environment.event(
        &json!({"event_type": "permission_request", "tool_name": "Shell", "tool_input": {}}),
    );
    assert_eq!((ran.code, ran.json()["decision"].as_str()), (0, Some("allow")));
    assert_eq!(ran.json()["reason"], "known");
}

#[test]
fn a_reason_reaches_both_streams_with_an_id_that_log_show_knows() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "echo 'not today' >&2; exit 2");
    let ran = environment.shell("ls");
    let id = ran.json()["id"].as_str().unwrap().to_owned();
    assert!(id.len() <= 12, "short: {id}");
    assert!(ran.stderr.contains("not today"), "{ran:?}");
    assert!(ran.stderr.contains(&format!("anyhook log show {id}")), "{ran:?}");
    let shown = environment.run(&["log", "show", &id]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stdout.contains("not today") && shown.stdout.contains("guard"), "{shown:?}");
}

#[test]
fn steps_are_counted_per_turn_and_per_session_across_processes() {
    let environment = environment();
    environment.user_hook(
        "look",
        "trigger: [before_stop, after_stop, session_end]",
        "cat > seen.json",
    );
    let send = |name: &str, session: &str| {
        environment.event(&json!({"event_type": name, "session_id": session}))
    };
    send("session_start", "a");
    send("before_agent", "a");
    for _ in 0..3 {
        send("before_tool", "a");
        send("after_tool", "a");
    }
    send("before_tool", "b");
    send("before_stop", "a");
    assert_eq!(seen(&environment)["step_count"], 3);
    send("before_agent", "a");
    send("before_tool", "a");
    send("after_stop", "a");
    assert_eq!(seen(&environment)["step_count"], 1, "a turn begins with before_agent");
    send("session_end", "a");
    assert_eq!(seen(&environment)["total_steps"], 4);
    send("before_stop", "b");
    assert_eq!(seen(&environment)["step_count"], 1, "another session counts for itself");
    send("session_start", "a");
    send("before_stop", "a");
    assert_eq!(seen(&environment)["step_count"], 0, "a turn begins with session_start");
}

#[test]
fn steps_of_tools_that_run_at_once_are_all_counted() {
    let environment = environment();
    environment.user_hook("look", "trigger: session_end", "cat > seen.json");
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                environment.event(&json!({"event_type": "before_tool", "session_id": "a"}))
            });
        }
    });
    environment.event(&json!({"event_type": "session_end", "session_id": "a"}));
    assert_eq!(seen(&environment)["total_steps"], 16);
}

#[test]
fn the_duration_of_a_session_is_counted_from_its_first_event() {
    let environment = environment();
    environment.user_hook("look", "trigger: session_end", "cat > seen.json");
    for (name, at) in [
        ("session_start", "2024-01-15T10:00:00Z"),
        ("before_agent", "2024-01-15T10:30:00Z"),
        ("session_end", "2024-01-15T11:00:01Z"),
    ] {
        environment.event(&json!({"event_type": name, "session_id": "a", "timestamp": at}));
    }
    assert_eq!(seen(&environment)["duration_seconds"], 3601);
}

#[test]
fn counters_that_a_host_gives_are_not_overwritten() {
    let environment = environment();
    environment.user_hook("look", "trigger: [before_stop, session_end]", "cat > seen.json");
    environment.event(&json!({"event_type": "before_tool", "session_id": "a"}));
    environment.event(&json!({"event_type": "before_stop", "session_id": "a", "step_count": 77}));
    assert_eq!(seen(&environment)["step_count"], 77);
    environment.event(&json!({
        "event_type": "session_end", "session_id": "a", "duration_seconds": 5, "total_steps": 6,
    }));
    assert_eq!(seen(&environment)["duration_seconds"], 5);
    assert_eq!(seen(&environment)["total_steps"], 6);
}

#[test]
fn a_trigger_may_be_a_list_in_mixed_spellings() {
    let environment = environment();
    environment.user_hook(
        "look",
        "trigger:\n  - pre-tool-call\n  - before_stop",
        "printf '%s ' \"$ANYHOOK_EVENT\" >> events.txt",
    );
    for name in ["before_tool", "pre-agent-turn-stop", "after_tool"] {
        environment.event(&json!({"event_type": name}));
    }
    assert_eq!(written(&environment, "events.txt"), "pre-tool-call before_stop ");
}

#[test]
fn a_trigger_is_read_in_any_spelling_and_by_a_hosts_own_name() {
    let environment = environment();
    for (own, canonical) in [
        ("Before_Tool", "before_tool"),
        ("before-tool", "before_tool"),
        ("BEFORE_TOOL", "before_tool"),
        ("pre_tool_call", "pre-tool-call"),
        ("PreToolUse", "before_tool"),
        ("BeforeTool", "before_tool"),
        ("tool.execute.before", "before_tool"),
        ("beforeShellExecution", "before_tool"),
        ("PostToolUse", "after_tool"),
        ("PostToolUseFailure", "after_tool_failure"),
        ("UserPromptSubmit", "before_agent"),
        ("Stop", "before_stop"),
        ("SessionStart", "session_start"),
        ("SessionEnd", "session_end"),
        ("SubagentStart", "subagent_start"),
        ("SubagentStop", "subagent_stop"),
        ("PreCompact", "pre_compact"),
        ("Notification", "notification"),
        ("PermissionRequest", "permission_request"),
    ] {
        environment.user_hook(
            "guard",
            &format!("trigger: {own}"),
            "printf '%s' \"$ANYHOOK_EVENT\" > event.txt; echo no >&2; exit 2",
        );
        assert_eq!(environment.event(&json!({"event_type": canonical})).code, 2, "{own}");
        assert_eq!(written(&environment, "event.txt"), canonical, "{own}");
        let finding = finding(&environment, "guard", "trigger-spelling");
        assert_eq!(finding["severity"], "note");
        assert_eq!(finding["message"], format!("`{own}` is read as `{canonical}`"));
        assert_eq!((finding["line"].as_u64(), finding["column"].as_u64()), (Some(4), Some(10)));
    }
}

#[test]
fn an_event_type_is_read_in_any_spelling() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    for name in ["Before_Tool", "before-tool", "PreToolUse", "BeforeTool", "pre_tool_call"] {
        let event = json!({"event_type": name, "tool_name": "Shell", "tool_input": {}});
        assert_eq!(environment.event(&event).code, 2, "{name}");
        assert_eq!(last_record(&environment)["event"], "before_tool", "{name}");
    }
}

#[test]
fn an_event_that_is_nearly_one_of_ours_is_told() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    let ran = environment.event(&json!({"event_type": "before_tol"}));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"));
    let words = "unknown event `before_tol`, so no hook ran: did you mean `before_tool`?";
    assert_eq!(ran.stderr, format!("anyhook: {words}\n"));
    assert_eq!(last_record(&environment)["verdict"]["warnings"], json!([words]));
}

#[test]
fn an_unknown_trigger_disables_that_hook_alone_and_loudly() {
    let environment = environment();
    environment.user_hook("broken", "trigger: befor_tool\npriority: 900", BLOCK);
    environment.user_hook("other", "trigger: before_tool", MARK);
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"));
    assert!(left(&environment, "ran-other"));
    assert!(last_skip(&environment, "broken")["unusable"].as_str().unwrap().contains("befor_tool"));
    assert_eq!(listed(&environment, "broken")["usable"], false);
    let list = environment.run(&["list"]);
    assert!(list.stdout.contains("unknown trigger `befor_tool`"), "{list:?}");
    assert!(list.stdout.contains("did you mean `before_tool`?"), "{list:?}");
    let check = environment.run(&["check"]);
    assert_eq!(check.code, 1);
    assert!(check.stdout.contains("did you mean `before_tool`?"), "{check:?}");
}

#[test]
fn one_known_trigger_in_a_list_is_enough() {
    let environment = environment();
    environment.user_hook("guard", "trigger: [Lunch, before_tool]", BLOCK);
    assert_eq!(environment.shell("ls").code, 2);
    assert_eq!(finding(&environment, "guard", "unknown-trigger")["severity"], "error");
}

#[test]
fn an_event_nobody_knows_passes() {
    let environment = environment();
    raw_hook(
        &environment,
        "guard",
        "---\nname: guard\ndescription: d\ntrigger: before_tool\n---\n",
        BLOCK,
    );
    let ran = environment.event(&json!({"event_type": "before_lunch"}));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"));
    assert_eq!(last_record(&environment)["event"], "before_lunch");
}

#[test]
fn a_session_without_a_name_has_no_counters() {
    let environment = environment();
    environment.user_hook("look", "trigger: before_stop", "cat > seen.json");
    tool(&environment, "Shell", &json!({}));
    environment.event(&json!({"event_type": "before_stop"}));
    assert_eq!(seen(&environment)["step_count"], Value::Null);
    assert_eq!(seen(&environment)["session_id"], Value::Null);
}

#[test]
fn a_reply_needs_no_state_folder() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    // A file where the state folder should be: nothing can be remembered or journaled.
    write(&environment.home().join(".local/state"), "", 0o644);
    let began = std::time::Instant::now();
    let ran = environment.event(&json!({"event_type": "before_tool", "session_id": "a"}));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(began.elapsed() < Duration::from_secs(5));
}
