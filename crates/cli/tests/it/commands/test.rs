//! `anyhook test`.

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, write};
use serde_json::{Value, json};

use super::trust::at_a_terminal;
use crate::environment;

/// Adds a case to the user's hook.
fn case(environment: &TestEnv, hook: &str, name: &str, case: &Value) {
    let path = environment.user_hooks().join(hook).join("tests").join(format!("{name}.json"));
    write(&path, case.to_string(), 0o644);
}

fn shell(command: &str) -> Value {
    json!({"event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": command}})
}

/// A hook that says everything, depending on the command.
fn speaker() -> TestEnv {
    let environment = environment();
    environment.user_hook(
        "speaker",
        "trigger: before_tool\nmatcher:\n  tool: Shell",
        r#"case "$(cat)" in
*'"command": "deny"'*) echo 'not here' >&2; exit 2;;
*'"command": "ask"'*) echo '{"decision": "ask", "reason": "sure?"}';;
*'"command": "allow"'*) echo '{"decision": "allow"}';;
*'"command": "change"'*) echo '{"modified_input": {"command": "ls"}, "additional_context": "noted"}';;
*'"command": "fail"'*) echo 'no table' >&2; exit 1;;
*'"command": "file"'*) echo "$GREETING" > made; rm old;;
esac"#,
    );
    environment
}

#[test]
fn cases_that_pass() {
    let environment = speaker();
    let add = |name: &str, event: Value, expect: Value| {
        case(&environment, "speaker", name, &json!({"event": event, "expect": expect}));
    };
    add("allow", shell("allow"), json!({"decision": "allow"}));
    add("ask", shell("ask"), json!({"decision": "ask", "reason": "sure?"}));
    add(
        "change",
        shell("change"),
        json!({"decision": "none", "modified_input": {"command": "ls"}, "additional_context": "noted"}),
    );
    add("deny", shell("deny"), json!({"decision": "deny", "reason_contains": "here"}));
    add("failed", shell("fail"), json!({"decision": "failed"}));
    add("none", shell("other"), json!({"decision": "none"}));
    add(
        "skipped",
        json!({"event_type": "before_tool", "tool_name": "Read"}),
        json!({"decision": "skipped"}),
    );
    case(
        &environment,
        "speaker",
        "files",
        &json!({
            "description": "files and variables",
            "event": shell("file"),
            "files": {"old": "old", "bin/tool": {"content": "#!/bin/sh\n", "executable": true}},
            "env": {"GREETING": "in ${PROJECT} of ${LANG}, ${NOT_SET}${"},
            "expect": {"decision": "none", "files": {"old": null, "bin/tool": "#!/bin/sh\n"}},
        }),
    );
    assert_run!(environment, environment.run(&["test"]), @"
    exit code: 0
    ----- stdout -----
    ok      speaker  allow    [TOOK]
    ok      speaker  ask      [TOOK]
    ok      speaker  change   [TOOK]
    ok      speaker  deny     [TOOK]
    ok      speaker  failed   [TOOK]
    ok      speaker  files    [TOOK]  files and variables
    ok      speaker  none     [TOOK]
    ok      speaker  skipped  [TOOK]
    8 passed, 0 failed in [TOOK]
    ");
    assert_eq!(environment.journal().len(), 0, "a test is no dispatch");
}

/// One failing case of every kind of expectation.
fn failing() -> TestEnv {
    let environment = speaker();
    let add = |name: &str, event: Value, expect: Value| {
        case(&environment, "speaker", name, &json!({"event": event, "expect": expect}));
    };
    add("allow", shell("deny"), json!({"decision": "allow"}));
    add("ask", shell("other"), json!({"decision": "ask"}));
    add("context", shell("change"), json!({"decision": "none", "additional_context": "nothing"}));
    add("deny", shell("fail"), json!({"decision": "deny"}));
    add("failed", shell("allow"), json!({"decision": "failed"}));
    add(
        "files",
        shell("file"),
        json!({"decision": "none", "files": {"made": null, "missing": "text"}}),
    );
    add(
        "input",
        shell("change"),
        json!({"decision": "none", "modified_input": {"command": "ls -l"}}),
    );
    add(
        "no-input",
        shell("other"),
        json!({"decision": "none", "modified_input": {"command": "ls"}}),
    );
    add("none", shell("ask"), json!({"decision": "none"}));
    add("reason", shell("deny"), json!({"decision": "deny", "reason": "somewhere else"}));
    add("reason-contains", shell("allow"), json!({"decision": "allow", "reason_contains": "why"}));
    add("skipped", shell("other"), json!({"decision": "skipped"}));
    add(
        "tool",
        json!({"event_type": "before_tool", "tool_name": "Read"}),
        json!({"decision": "deny"}),
    );
    add("trigger", json!({"event_type": "session_start"}), json!({"decision": "none"}));
    environment
}

#[test]
fn cases_that_fail() {
    let environment = failing();
    assert_run!(environment, environment.run(&["test"]));
}

#[test]
fn cases_that_fail_as_json() {
    let environment = failing();
    assert_run!(environment, environment.run(&["test", "speaker", "--json"]));
}

/// What scrolled away is said again.
#[test]
fn failures_among_many_cases_are_shown_again_at_the_end() {
    let environment = speaker();
    for number in 0..20 {
        let expect = if number == 3 { "deny" } else { "none" };
        let one = json!({"event": shell("other"), "expect": {"decision": expect}});
        case(&environment, "speaker", &format!("case-{number:02}"), &one);
    }
    let ran = environment.run(&["test"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 21 + 4, "{ran:?}");
    assert!(lines[3].starts_with("FAILED  speaker  case-03  "), "{ran:?}");
    assert_eq!(
        lines[21..24],
        ["", "FAILED  speaker  case-03", "        expected deny, got none"],
        "{ran:?}"
    );
    assert!(lines[24].starts_with("19 passed, 1 failed in "), "{ran:?}");
}

#[test]
fn at_a_terminal_it_says_which_case_runs() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    environment.user_hook("slow", "trigger: before_tool", "sleep 2.5");
    let one = json!({"event": shell("ls"), "expect": {"decision": "none"}});
    case(&environment, "slow", "listing", &one);
    let ran = at_a_terminal(&environment, &["test", "slow"], "");
    assert!(ran.stdout.contains("running slow for listing … 1 s"), "{ran:?}");
    assert!(ran.stdout.contains("1 passed, 0 failed"), "{ran:?}");
}

#[test]
fn cases_that_cannot_be_read() {
    let environment = speaker();
    let tests = environment.user_hooks().join("speaker/tests");
    write(&tests.join("a-broken.json"), "{\"event\": }", 0o644);
    case(
        &environment,
        "speaker",
        "b-no-type",
        &json!({"event": {}, "expect": {"decision": "none"}}),
    );
    case(&environment, "speaker", "c-no-expectation", &json!({"event": shell("x")}));
    case(
        &environment,
        "speaker",
        "d-unknown-key",
        &json!({"event": shell("x"), "expect": {"decision": "none"}, "expects": {}}),
    );
    case(
        &environment,
        "speaker",
        "e-unknown-decision",
        &json!({"event": shell("x"), "expect": {"decision": "block"}}),
    );
    case(
        &environment,
        "speaker",
        "f-leads-out",
        &json!({"event": shell("x"), "files": {"../out": "x"}, "expect": {"decision": "none"}}),
    );
    case(
        &environment,
        "speaker",
        "g-fine",
        &json!({"event": shell("x"), "expect": {"decision": "none"}}),
    );
    write(&tests.join("README.md"), "not a case", 0o644);
    assert_run!(environment, environment.run(&["test"]), @"
    exit code: 1
    ----- stdout -----
    FAILED  speaker  a-broken            [TOOK]
            not a test case: expected value at line 1 column 11
            hint: `anyhook schema case` describes one
    FAILED  speaker  b-no-type           [TOOK]
            the event has no `event_type`
    FAILED  speaker  c-no-expectation    [TOOK]
            not a test case: missing field `expect` at line 1 column 87
            hint: `anyhook schema case` describes one
    FAILED  speaker  d-unknown-key       [TOOK]
            not a test case: unknown field `expects`, expected one of `description`, `event`, `files`, `env`, `expect` at line 1 column 125
            hint: `anyhook schema case` describes one
    FAILED  speaker  e-unknown-decision  [TOOK]
            not a test case: unknown variant `block`, expected one of `deny`, `ask`, `allow`, `none`, `skipped`, `failed` at line 1 column 115
            hint: `anyhook schema case` describes one
    FAILED  speaker  f-leads-out         [TOOK]
            `../out` points outside the scratch project
    ok      speaker  g-fine              [TOOK]
    1 passed, 6 failed in [TOOK]
    ");
}

#[test]
fn a_hook_that_cannot_run() {
    let environment = environment();
    environment.user_hook("broken", "trigger: never", "exit 0");
    case(
        &environment,
        "broken",
        "one",
        &json!({"event": shell("x"), "expect": {"decision": "none"}}),
    );
    assert_run!(environment, environment.run(&["test"]), @"
    exit code: 1
    ----- stdout -----
    FAILED  broken  one  [TOOK]
            the hook cannot run: unknown trigger `never`
    0 passed, 1 failed in [TOOK]
    ");
}

#[test]
fn an_async_hook_and_a_shadow_hook() {
    let environment = environment();
    let deny = "echo no >&2; exit 2";
    environment.user_hook("aside", "trigger: before_tool\nasync: true", deny);
    case(
        &environment,
        "aside",
        "one",
        &json!({"event": shell("x"), "expect": {"decision": "none"}}),
    );
    environment.user_hook("watcher", "trigger: before_tool\nmode: shadow", deny);
    case(
        &environment,
        "watcher",
        "one",
        &json!({"event": shell("x"), "expect": {"decision": "deny"}}),
    );
    environment.user_hook("elsewhere", "trigger: before_tool\nhosts: [codex]", deny);
    case(
        &environment,
        "elsewhere",
        "one",
        &json!({"event": shell("x"), "expect": {"decision": "deny"}}),
    );
    assert_run!(environment, environment.run(&["test"]), @"
    exit code: 0
    ----- stdout -----
    ok      aside      one  [TOOK]
    ok      elsewhere  one  [TOOK]
    ok      watcher    one  [TOOK]
    3 passed, 0 failed in [TOOK]
    ");
}

/// Nothing from a repository runs unasked.
#[test]
fn an_untrusted_hook_runs_only_by_name() {
    let environment = environment();
    let folder = environment.project_hook("stranger", "trigger: before_tool", "touch ran");
    write(
        &folder.join("tests/one.json"),
        json!({"event": shell("x"), "expect": {"decision": "none"}}).to_string(),
        0o644,
    );
    assert_run!(environment, environment.run(&["test"]), @"
    exit code: 0
    ----- stdout -----
    0 passed, 0 failed in [TOOK]
    note: not trusted, so tested only when named: stranger
    ");
    assert_run!(environment, environment.run(&["test", "stranger"]), @"
    exit code: 0
    ----- stdout -----
    ok      stranger  one  [TOOK]
    1 passed, 0 failed in [TOOK]
    ");
}

#[test]
fn no_cases() {
    let environment = environment();
    environment.user_hook("bare", "trigger: before_tool", "exit 0");
    assert_run!(environment, environment.run(&["test", "bare"]), @"
    exit code: 0
    ----- stdout -----
    no test cases
    hint: a case is a file tests/NAME.json in the hook's folder; `anyhook schema case` describes its contents
    ");
    assert_run!(environment, environment.run(&["test", "--json"]), @"
    exit code: 0
    ----- stdout -----
    []
    ");
}

#[test]
fn an_unknown_hook() {
    let environment = environment();
    assert_run!(environment, environment.run(&["test", "nobody"]), @"
    exit code: 65
    ----- stderr -----
    error: `nobody` is neither an installed hook nor a hook's folder
    hint: `anyhook list` shows installed hooks
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["test", "--help"]));
}
