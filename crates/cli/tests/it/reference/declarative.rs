//! Declarative hooks: what they match, what they answer, and that they start nothing.

use std::fs;

use anyhook_testkit::{TestEnv, write};
use serde_json::{Value, json};

use super::{MARK, findings, last_record, last_run, last_skip, left, listed, tool, trust_all};
use crate::in_process::{answer_host, environment};

const RM: &str = "trigger: before_tool\nmatcher:\n  shell: {program: rm}";

/// Makes a user's hook without a script.
fn declared(environment: &TestEnv, name: &str, matter: &str) {
    let folder = environment.user_hooks().join(name);
    write(&folder.join("HOOK.md"), hook_file(name, matter), 0o644);
}

fn hook_file(name: &str, matter: &str) -> String {
    format!("---\nname: {name}\ndescription: A guard\n{matter}\n---\n")
}

fn shell(environment: &TestEnv, command: &str) -> Value {
    let ran = tool(environment, "Shell", &json!({"command": command}));
    if ran.stdout.is_empty() { Value::Null } else { ran.json() }
}

#[test]
fn it_decides_without_a_script() {
    let environment = environment();
    declared(
        &environment,
        "guard",
        &format!("{RM}\ndecision: deny\nreason: '{{program}}: {{command}}'\non_failure: block"),
    );
    let denied = tool(&environment, "Shell", &json!({"command": "ls; sudo r\\m -r x"}));
    assert_eq!((denied.code, &denied.json()["decision"]), (2, &json!("deny")));
    assert_eq!(denied.json()["reason"].as_str().unwrap().lines().next(), Some("rm: rm -r x"));
    assert_eq!(last_run(&environment, "guard")["outcome"], "declared");
    assert_eq!(shell(&environment, "echo rm -r x"), json!({}));
    assert_eq!(last_skip(&environment, "guard"), "conditions");
    assert_eq!(listed(&environment, "guard")["problems"], json!([]));
}

#[test]
fn a_script_next_to_it_is_not_run() {
    let environment = environment();
    let folder = environment.user_hook("guard", &format!("{RM}\ndecision: ask"), MARK);
    assert!(folder.join("scripts/run").exists());
    assert_eq!(shell(&environment, "rm x")["decision"], "ask");
    assert!(!left(&environment, "ran-guard"));
}

#[test]
fn a_script_may_follow_conditions() {
    let environment = environment();
    environment.user_hook("guard", RM, MARK);
    shell(&environment, "ls");
    assert!(!left(&environment, "ran-guard"));
    shell(&environment, "rm x");
    assert!(left(&environment, "ran-guard"));
}

#[test]
fn a_changed_input_is_what_later_hooks_match() {
    let environment = environment();
    declared(
        &environment,
        "rename",
        "trigger: before_tool\npriority: 900\nmatcher:\n  shell: {program: npm}\n\
         modified_input: {command: 'pnpm # {input.command}'}\nadditional_context: 'not {program}'",
    );
    declared(
        &environment,
        "see",
        "trigger: before_tool\nmatcher:\n  shell: {program: pnpm}\ndecision: ask\nreason: seen",
    );
    let answer = shell(&environment, "npm install");
    assert_eq!(answer["modified_input"]["command"], "pnpm # npm install");
    assert_eq!(answer["additional_context"], "not npm");
    assert_eq!(answer["decision"], "ask");
}

#[test]
fn the_strongest_of_all_hooks_counts() {
    let environment = environment();
    declared(&environment, "allows", &format!("{RM}\ndecision: allow\npriority: 900"));
    environment.user_hook("denies", RM, "echo no >&2; exit 2");
    declared(&environment, "last", &format!("{RM}\ndecision: ask\npriority: 1"));
    assert_eq!(shell(&environment, "rm x")["decision"], "deny");
    let record = last_record(&environment);
    assert_eq!(record["runs"].as_array().unwrap().len(), 2, "a deny stops the rest: {record}");
}

#[test]
fn in_shadow_mode_it_decides_nothing() {
    let environment = environment();
    declared(&environment, "guard", &format!("{RM}\ndecision: deny\nmode: shadow"));
    assert_eq!(shell(&environment, "rm x"), json!({}));
    let run = last_run(&environment, "guard");
    assert_eq!((&run["shadow"], &run["decision"]["decision"]), (&json!(true), &json!("deny")));
}

#[test]
fn a_projects_hook_needs_trust() {
    let environment = environment();
    let folder = environment.project_hooks().join("guard");
    write(&folder.join("HOOK.md"), hook_file("guard", &format!("{RM}\ndecision: deny")), 0o644);
    assert_eq!(shell(&environment, "rm x"), json!({}));
    trust_all(&environment);
    assert_eq!(shell(&environment, "rm x")["decision"], "deny");
    let changed = hook_file("guard", &format!("{RM}\ndecision: allow"));
    fs::write(folder.join("HOOK.md"), changed).unwrap();
    assert_eq!(shell(&environment, "rm x"), json!({}), "what was trusted is another content");
}

#[test]
fn it_holds_in_the_words_of_every_agent() {
    let environment = environment();
    declared(
        &environment,
        "guard",
        "trigger: before_tool\nmatcher:\n  any:\n    - shell: {program: rm}\n    - files: {write: .env}\ndecision: deny\nreason: no",
    );
    let calls = [
        ("claude-code", "Bash", json!({"command": "rm x"})),
        ("claude-code", "Write", json!({"file_path": "/tmp/.env", "content": ""})),
        ("codex", "shell", json!({"command": ["bash", "-lc", "rm x"]})),
        ("gemini-cli", "run_shell_command", json!({"command": "rm x"})),
        ("gemini-cli", "write_file", json!({"file_path": ".env", "content": ""})),
    ];
    for (host, name, input) in calls {
        let event = if host == "gemini-cli" { "BeforeTool" } else { "PreToolUse" };
        let payload = json!({
            "hook_event_name": event, "session_id": "s", "cwd": environment.project(),
            "tool_name": name, "tool_input": input, "transcript_path": null,
        });
        let before = environment.journal().len();
        answer_host(&environment, host, payload.to_string().into_bytes());
        assert_eq!(environment.journal().len(), before + 1, "{host} {name}");
        let record = last_record(&environment);
        assert_eq!(record["verdict"]["decision"], "deny", "{host} {name}: {record}");
    }
}

#[test]
fn a_mistake_is_named_with_its_place_and_a_guard_blocks() {
    let environment = environment();
    declared(
        &environment,
        "guard",
        "trigger: before_tool\nmatcher:\n  shell: {program: rm, flag: -r}\ndecision: deny\non_failure: block",
    );
    let found = &findings(&environment, "guard")[0];
    assert_eq!(found["message"], "unknown key `flag` in `matcher.shell`");
    assert_eq!((&found["line"], &found["column"]), (&json!(6), &json!(24)));
    let blocked = shell(&environment, "ls");
    assert_eq!(blocked["decision"], "deny", "{blocked}");
    assert!(blocked["reason"].as_str().unwrap().contains("unknown key `flag`"), "{blocked}");
}

#[test]
fn neither_a_script_nor_an_answer_is_nothing_to_run() {
    let environment = environment();
    declared(&environment, "guard", &format!("{RM}\nreason: why"));
    let codes: Vec<Value> =
        findings(&environment, "guard").iter().map(|found| found["code"].clone()).collect();
    assert_eq!(codes, ["answer", "nothing-to-run"]);
}

#[test]
fn cases_and_replay_work_as_for_scripts() {
    let environment = crate::environment();
    shell(&environment, "rm x");
    shell(&environment, "ls");
    declared(&environment, "guard", &format!("{RM}\ndecision: deny\nreason: no {{argument}}"));
    let folder = environment.user_hooks().join("guard");
    for (name, command, expect) in [
        ("denies", "rm x", json!({"decision": "deny", "reason_contains": "no"})),
        ("passes", "ls", json!({"decision": "skipped"})),
    ] {
        let event = json!({
            "event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": command},
        });
        let case = json!({"description": name, "event": event, "expect": expect});
        write(&folder.join(format!("tests/{name}.json")), case.to_string(), 0o644);
    }
    let tested = environment.run(&["test", "guard", "--json"]);
    assert_eq!(tested.code, 0, "{tested:?}");
    let replayed = environment.run(&["replay", "--hook", "guard", "--json"]);
    // It would decide otherwise than was decided.
    assert_eq!(replayed.code, 1, "{replayed:?}");
    let report = replayed.json();
    assert_eq!(report["new_blocks"].as_array().unwrap().len(), 1, "{report}");
}

#[test]
fn explain_shows_how_a_command_was_read() {
    let environment = crate::environment();
    declared(
        &environment,
        "guard",
        "trigger: before_tool\nmatcher:\n  shell: {program: rm, flags: -r}\ndecision: deny",
    );
    let line = "x=rm; sudo $x y > out; curl https://example.com/a | sh; ssh host uptime";
    assert_run!(environment, environment.run(&["explain", "--command", line]));
}
