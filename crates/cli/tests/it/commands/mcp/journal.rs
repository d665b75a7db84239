//! What is read of the journal, with or without a daemon.

use anyhook_engine::journal::Journal;
use anyhook_model::{EventKind, Record, RecordId};
use anyhook_testkit::TestEnv;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{answers_to, call, call_all, request};
use crate::environment;

/// A token that looks like a real one.
const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

/// Two sessions, and hooks that deny, ask and fail.
fn busy() -> TestEnv {
    let environment = environment();
    let matching = |pattern: &str| format!("trigger: before_tool\nmatcher:\n  pattern: {pattern}");
    environment.user_hook("guard", &matching("mkfs"), "echo 'not here' >&2; exit 2");
    environment.user_hook(
        "asker",
        &matching("push"),
        r#"echo '{"decision": "ask", "reason": "sure?"}'"#,
    );
    environment.user_hook("broken", "trigger: before_agent", "echo 'no table' >&2; exit 1");
    let shell = |command: &str, session: &str| {
        json!({
            "event_type": "before_tool", "session_id": session, "tool_name": "Shell",
            "tool_input": {"command": command},
        })
    };
    for event in [
        json!({"event_type": "session_start", "session_id": "one"}),
        json!({"event_type": "before_agent", "session_id": "one", "prompt": "make it faster"}),
        shell("ls", "one"),
        shell("mkfs /dev/sda", "one"),
        shell("git push", "two"),
        shell(&format!("curl -H 'Authorization: Bearer {TOKEN}' https://example.com"), "two"),
    ] {
        environment.event(&event);
    }
    environment
}

fn ids(records: &Value) -> Vec<&str> {
    records.as_array().unwrap().iter().map(|record| record["id"].as_str().unwrap()).collect()
}

#[test]
fn a_search_finds_what_log_finds() {
    let environment = busy();
    let filters = [
        ("session", "one"),
        ("host", "agent-hooks"),
        ("host", "codex"),
        ("project", "project"),
        ("project", "/nowhere"),
        ("event", "before_tool"),
        ("event", "PreToolUse"),
        ("tool", "Shell"),
        ("hook", "guard"),
        ("verdict", "deny"),
        ("verdict", "ask"),
        ("verdict", "failed"),
        ("text", "SDA"),
        ("since", "1h"),
        ("since", "2020-01-01"),
        ("until", "2020-01-01"),
    ];
    let calls: Vec<(&str, Value)> =
        filters.iter().map(|(name, value)| ("search_journal", json!({*name: value}))).collect();
    let results = call_all(&environment, &calls);
    let mut lengths = Vec::new();
    for ((name, value), result) in filters.iter().zip(results) {
        let ran = environment.run(&["log", "--json", &format!("--{name}"), value]);
        let expected: Vec<Value> =
            ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let found = &result["structuredContent"]["records"];
        assert_eq!(ids(found), ids(&json!(expected)), "{name} {value}: {result:#}");
        lengths.push(ids(found).len());
    }
    assert_eq!(lengths, [4, 6, 0, 6, 0, 4, 4, 4, 1, 1, 1, 1, 1, 6, 6, 0]);
    let denied = call(&environment, "search_journal", json!({"verdict": "deny", "hook": "guard"}));
    let record = &denied["records"][0];
    assert_eq!(record["verdict"], "deny");
    assert_eq!(record["reason"], "not here");
    assert_eq!(record["by"], "guard");
    assert_eq!(record["about"], "mkfs /dev/sda");
    assert!(denied.get("left_out").is_none() && denied.get("next").is_none(), "{denied:#}");
}

#[test]
fn a_search_goes_on_where_it_stopped() {
    let environment = busy();
    let all = environment.journal();
    let mut seen: Vec<String> = Vec::new();
    let mut before = Value::Null;
    loop {
        let page = call(&environment, "search_journal", json!({"limit": 2, "before": before}));
        let mut found: Vec<String> = ids(&page["records"]).into_iter().map(str::to_owned).collect();
        assert_eq!(found.len(), 2);
        found.append(&mut seen);
        seen = found;
        before = page["next"].clone();
        let left_out = page.get("left_out").and_then(Value::as_str);
        if before.is_null() {
            assert_eq!(left_out, None);
            break;
        }
        assert!(left_out.unwrap().starts_with("earlier records match, too"), "{page:#}");
    }
    assert_eq!(seen, ids(&json!(all)));
}

#[test]
fn a_record_is_shown_with_all_that_belongs_to_it() {
    let environment = busy();
    let denied = environment.journal().into_iter().find(|one| one["about"] == "mkfs /dev/sda");
    let id = denied.unwrap()["id"].as_str().unwrap().to_owned();
    let shown = call(&environment, "show_record", json!({"record": &id[..6]}));
    let printed = environment.run(&["log", "show", &id, "--json"]).json();
    assert_eq!(shown["record"], printed);
    assert_eq!(shown["record"]["runs"][0]["stderr"], "not here\n", "{shown:#}");

    // A payload with two events has two records, and a hook in the background one of its own.
    environment.user_hook("later", "trigger: before_tool\nasync: true", "echo done");
    environment.shell("true");
    anyhook_testkit::wait_until("the hook in the background to end", || {
        environment.journal().iter().any(|record| record["of"].is_string())
    });
    let is_dispatch = |one: &Value| one["about"] == "true" && one["of"].is_null();
    let record = environment.journal().into_iter().find(is_dispatch).unwrap();
    let shown = call(&environment, "show_record", json!({"record": record["id"]}));
    assert_eq!(shown["later"][0]["runs"][0]["hook"], "later", "{shown:#}");
}

#[test]
fn a_large_record_is_cut_and_says_so() {
    let environment = environment();
    let output = "x".repeat(3 << 20);
    environment.event(&json!({
        "event_type": "after_tool", "tool_name": "Shell", "tool_input": {"command": "cat big"},
        "tool_output": output,
    }));
    let id = environment.journal()[0]["id"].clone();
    let shown = call(&environment, "show_record", json!({"record": id}));
    let length = shown.to_string().len();
    assert!(length < 64 * 1024, "{length}");
    assert!(shown["left_out"].as_str().unwrap().starts_with("the payload is cut"), "{shown:#}");
    assert!(shown["record"]["payload"].as_str().unwrap().contains("bytes cut)"), "{shown:#}");
}

#[test]
fn secrets_are_redacted_wherever_they_are() {
    let environment = busy();
    let hook = format!("name: leaky\ndescription: uses {TOKEN}\ntrigger: before_stop");
    let folder = environment.user_hooks().join("leaky");
    anyhook_testkit::write(&folder.join("HOOK.md"), format!("---\n{hook}\n---\n"), 0o644);
    let id = environment.journal().pop().unwrap()["id"].clone();
    let calls = [
        ("search_journal", json!({"session": "two"})),
        ("show_record", json!({"record": id})),
        ("hooks_in_force", json!({})),
    ];
    for ((tool, _), result) in calls.iter().zip(call_all(&environment, &calls)) {
        let text = result.to_string();
        assert!(text.contains("[redacted"), "{tool}: {result:#}");
        assert!(!text.contains(TOKEN), "{tool}: {result:#}");
    }
}

#[test]
fn the_statistics_are_those_of_stats() {
    let environment = busy();
    let mut counted = call(&environment, "stats", json!({"since": "30d", "hooks": ["guard"]}));
    let mut printed = environment.run(&["stats", "guard", "--since", "30d", "--json"]).json();
    for report in [&mut counted, &mut printed] {
        // The period ends now.
        for moment in ["since", "until"] {
            report[moment].take();
        }
    }
    assert_eq!(counted, printed);
    assert_eq!(counted["hooks"][0]["blocks"], 1, "{counted:#}");
}

/// More calls than are answered at once, in a journal in which each takes a while: the last one
/// waits when it is cancelled, and is never answered.
#[test]
fn a_call_that_is_cancelled_is_not_answered() {
    let environment = environment();
    let journal = Journal::new(&environment.state());
    let record = |number: usize| {
        let id = RecordId::from_text(&format!("{number:08}"));
        let mut record = Record::new(id, Timestamp::now(), "codex", EventKind::BeforeTool);
        record.about = Some("x".repeat(2000));
        record
    };
    journal.append((0..2000).map(record).collect()).unwrap();
    let call = json!({"name": "search_journal", "arguments": {"text": "nothing like it"}});
    let mut lines: Vec<String> =
        (0..60).map(|id| request(id, "tools/call", &call).to_string()).collect();
    for id in [58, 59] {
        let cancel = json!({"requestId": id, "reason": "never mind"});
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel});
        lines.push(cancel.to_string());
    }
    let answers = answers_to(&environment, &lines.join("\n"));
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..58).collect::<Vec<u64>>());
}
