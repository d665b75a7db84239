//! `anyhook schema`, and whether what is really written keeps to the schemas.

mod daemon;
mod pipeline;
mod runbook;
mod workflow;

use std::fs;

use anyhook_testkit::{TestEnv, wait_until, write};
use serde_json::{Value, json};

use crate::environment;

const NAMES: [&str; 39] = [
    "add",
    "agents",
    "case",
    "daemon-request",
    "daemon-response",
    "daemon-status",
    "decisions",
    "doctor-prove",
    "emit",
    "event",
    "front-matter",
    "happening",
    "install",
    "new",
    "notice",
    "output",
    "packs",
    "pipeline",
    "pipeline-line",
    "pipeline-plan",
    "pipelines",
    "promote",
    "record",
    "reload",
    "remove",
    "replay",
    "runbook",
    "runbook-check",
    "runbook-list",
    "runbook-show",
    "serve-answer",
    "serve-request",
    "stats",
    "trust",
    "uninstall",
    "untrust",
    "verdict",
    "verify",
    "workflow-file",
];

fn schema(environment: &TestEnv, name: &str) -> Value {
    environment.run(&["schema", name]).json()
}

/// Fails with all that is wrong if a value does not keep to a schema.
fn assert_valid(environment: &TestEnv, name: &str, value: &Value) {
    let validator = jsonschema::validator_for(&schema(environment, name)).unwrap();
    let faults: Vec<String> = validator
        .iter_errors(value)
        .map(|fault| format!("{} at {}", fault, fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{name}: {faults:#?}\n{value:#}");
}

fn is_valid(environment: &TestEnv, name: &str, value: &Value) -> bool {
    jsonschema::validator_for(&schema(environment, name)).unwrap().is_valid(value)
}

#[test]
fn all() {
    let environment = environment();
    assert_run!(environment, environment.run(&["schema"]), @"
    exit code: 0
    ----- stdout -----
    add                      What was added
    agents                   Agent states
    ai-engineer-output       AI implementation report
    architect-output         Architecture
    architecture-assessment  Architecture assessment
    backend-output           Backend implementation report
    case                     A hook test case
    check                    Hook check findings
    code-health-output       Code health review
    context-refresh-report   Context refresh report
    daemon-request           A request to the daemon
    daemon-response          A response of the daemon
    daemon-status            Daemon status
    decisions                Decisions
    devops-output            Deployment report
    doctor                   Diagnosis
    doctor-prove             What was proven of agents
    emit                     What was reported about an agent
    event                    An event
    front-matter             The front matter of a HOOK.md
    frontend-output          Frontend implementation report
    governance-output        Governance review
    happening                An event of the daemon
    hosts                    Supported agents
    install                  What was installed into agents
    list                     Installed hooks
    new                      A hook that was made
    notice                   A notification
    output                   Hook output
    pack                     A pack
    packs                    Packs
    packs-lock               Packs that were added
    pipeline                 A pipeline
    pipeline-line            A pipeline log line
    pipeline-plan            A pipeline plan
    pipelines                Pipelines
    plan                     Hooks that would run for an event
    pm-output                Requirements
    project-config           Project configuration
    promote                  A hook that is in force
    prompt                   Active hooks
    qa-output                Test report
    record                   A journal record
    reload                   Guards that sessions use as they are now
    remove                   What was removed
    replay                   Replay results
    runbook                  A runbook
    runbook-check            Runbook check findings
    runbook-list             Pipelines of all runbooks
    runbook-show             A pipeline of a runbook
    safety-output            Safety review
    second-opinion-review    Second opinion
    serve-answer             A response line of `serve`
    serve-request            A request line of `serve`
    stage-completion-signal  Completion signal
    stats                    Journal statistics
    test                     Test results
    trust                    What was trusted
    uninstall                What was removed from agents
    untrust                  What is no longer trusted
    update                   What was updated
    verdict                  The combined verdict
    verify                   Journal integrity
    workflow-check           Workflow check findings
    workflow-context         The context of a workflow agent
    workflow-file            A workflow
    workflow-history         Workflow history
    workflow-next            Next steps of a workflow
    workflow-state           Workflow state
    workflow-status          Workflow status
    workflow-validate        Artifact validation results
    ");
}

#[test]
fn each_is_the_committed_one_and_a_schema() {
    let environment = environment();
    for name in NAMES {
        let ran = environment.run(&["schema", name]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        // That of a workflow's file is next to its reader.
        let home = if name == "workflow-file" { "workflow" } else { "model" };
        let committed =
            format!("{}/../{home}/schemas/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(ran.stdout, fs::read_to_string(committed).unwrap(), "{name}");
        jsonschema::meta::validate(&ran.json()).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    }
}

#[test]
fn an_unknown_schema() {
    let environment = environment();
    assert_run!(environment, environment.run(&["schema", "hook"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown schema `hook`
    hint: `anyhook schema` lists them
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["schema", "--help"]));
}

#[test]
fn packs_keep_to_their_schema() {
    let environment = environment();
    fs::create_dir_all(environment.home().join(".claude")).unwrap();
    assert_valid(&environment, "packs", &environment.run(&["packs", "--json"]).json());
    assert_eq!(environment.run(&["add", "pack/delivery-workflow"]).code, 0);
    let packs = environment.run(&["packs", "--json"]).json();
    let is_added = |pack: &&Value| pack["name"] == "delivery-workflow";
    let added = packs.as_array().unwrap().iter().find(is_added).unwrap();
    assert_eq!(added["installed"][0]["level"], "user");
    assert_valid(&environment, "packs", &packs);
    assert!(!is_valid(&environment, "packs", &json!([{"name": "x"}])));
}

/// Every event in both spellings, as a script gets it.
#[test]
fn events_keep_to_their_schema() {
    let environment = environment();
    for (name, alias) in [
        ("session_start", Some("pre-session")),
        ("session_end", Some("post-session")),
        ("before_agent", Some("pre-agent-turn")),
        ("after_agent", Some("post-agent-turn")),
        ("before_stop", Some("pre-agent-turn-stop")),
        ("after_stop", Some("post-agent-turn-stop")),
        ("before_tool", Some("pre-tool-call")),
        ("after_tool", Some("post-tool-call")),
        ("after_tool_failure", Some("post-tool-call-failure")),
        ("subagent_start", Some("pre-subagent")),
        ("subagent_stop", Some("post-subagent")),
        ("pre_compact", Some("pre-context-compact")),
        ("post_compact", Some("post-context-compact")),
        ("notification", None),
        ("permission_request", None),
    ] {
        for spelling in std::iter::once(name).chain(alias) {
            let folder =
                environment.user_hook("see", &format!("trigger: {spelling}"), "cat > seen");
            for event in [
                json!({"event_type": name}),
                json!({
                    "event_type": name, "session_id": "s", "timestamp": "2024-01-15T10:30:00Z",
                    "tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_use_id": "t",
                    "tool_output": {"text": "x"}, "error": "e", "duration_ms": 5, "files": ["a"],
                    "native": {"tool_name": "Bash", "tool_input": {"cmd": "ls"}},
                    "prompt": "p", "final_message": "m", "stop_reason": "no_tool_calls",
                    "model": "m", "args": ["-x"], "exit_reason": "done", "trigger": "auto",
                    "subagent_name": "n", "subagent_type": "t", "task_description": "d",
                    "kind": "idle", "message": "m", "context": {"a": 1}, "further": [1.5],
                }),
            ] {
                let ran = environment.event(&event);
                assert_eq!(ran.code, 0, "{ran:?}");
                let seen = fs::read(environment.project().join("seen")).unwrap();
                let seen: Value = serde_json::from_slice(&seen).unwrap();
                assert_eq!(seen["event_type"], spelling);
                assert_valid(&environment, "event", &seen);
            }
            fs::remove_dir_all(folder).unwrap();
        }
    }
}

/// Records and verdicts of dispatches in which everything happens.
#[test]
fn records_and_verdicts_keep_to_their_schemas() {
    let environment = environment();
    let say = |name: &str, matter: &str, script: &str| {
        environment.user_hook(name, &format!("trigger: before_tool\n{matter}"), script);
    };
    say(
        "a-changer",
        "",
        r#"echo '{"modified_input": {"command": "x"}, "additional_context": "c", "log": "l"}'"#,
    );
    say("b-watcher", "mode: shadow", "exit 2");
    say("c-broken", "", "exit 1");
    say("d-slow", "timeout: 100", "sleep 60");
    say("e-aside", "async: true", "exit 0");
    say("f-killed", "", "kill -9 $$");
    say("g-leaves", "", "sleep 0.3 &");
    say("h-gone", "", "#!/no/such/interpreter");
    say("i-other", "matcher: {tool: Read}", "exit 0");
    say("j-other", "matcher: {pattern: never}", "exit 0");
    say("k-host", "hosts: [codex]", "exit 0");
    say("l-useless", "matcher: {pattern: '('}", "exit 0");
    say("m-asks", "", r#"echo '{"decision": "ask", "reason": "r"}'"#);
    say("twin", "", "exit 0");
    say("locked", "metadata: {locked: true}", "exit 0");
    environment.user_hook("gate", "trigger: before_stop", "exit 2");
    environment.project_hook("twin", "trigger: before_tool", "exit 0");
    environment.project_hook("locked", "trigger: before_tool", "exit 0");
    environment.run(&["trust", "--all", "--replace", "twin"]);
    environment.project_hook("stranger", "trigger: before_tool", "exit 0");
    write(&environment.home().join(".config/agents/anyhook.toml"), "stop_cap = 1\n", 0o644);
    for arguments in [
        &["run", "before_tool", "--tool", "Shell", "--input", r#"{"command": "ls"}"#, "--json"][..],
        &["run", "session_start", "--json"],
    ] {
        assert_valid(&environment, "verdict", &environment.run(arguments).json());
    }
    for _ in 0..2 {
        environment.event(&json!({"event_type": "before_stop", "session_id": "s"}));
    }
    wait_until("what ran aside", || environment.journal().iter().any(|one| one["of"].is_string()));
    let journal = environment.journal();
    assert_eq!(journal.len(), 5);
    for record in &journal {
        assert_valid(&environment, "record", record);
        assert_valid(&environment, "verdict", &record["verdict"]);
    }
    assert!(!is_valid(&environment, "record", &json!({"v": 1})));
}

/// What commands that change something say of it, when they do it and when they only say so.
#[test]
fn changes_keep_to_their_schemas() {
    let environment = environment();
    environment.project_hook("ours", "trigger: before_tool", "exit 0");
    environment.project_hook("unable", "trigger: before_tool\nmatcher: {tool: '('}", "exit 0");
    environment.user_hook("ours", "trigger: before_tool", "exit 0");
    let run = |arguments: &[&str]| {
        let name = arguments[0];
        let ran = environment.run(&[arguments, &["--json"]].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}: {ran:?}");
        let report = ran.json();
        assert_valid(&environment, name, &report);
        report
    };
    for arguments in [
        &["install", "claude-code", "codex", "--dry-run", "--diff"][..],
        &["install", "claude-code", "codex"],
        &["install", "claude-code"],
        &["uninstall", "--dry-run", "--diff"],
        &["uninstall", "claude-code", "codex", "opencode"],
        &["reload"],
        &["reload", "ours"],
        &["add", "pack/delivery-workflow", "--agent", "claude"],
        &["remove", "pack/delivery-workflow"],
    ] {
        run(arguments);
    }
    let shown = run(&["trust", "--show"]);
    assert!(shown["items"].as_array().unwrap().iter().all(|item| item["trusted"] == false));
    let trusted = run(&["trust", "--all", "--replace", "ours"]);
    assert_eq!(trusted["items"][0]["replaces"], true, "{trusted}");
    assert!(trusted["items"][1]["fault"].is_string(), "{trusted}");
    assert_eq!(run(&["trust", "--all"])["items"], json!([]));
    assert_eq!(run(&["untrust", "ours"])["untrusted"], json!(["ours"]));
    let new = run(&["new", "made", "--trigger", "before_tool,after_tool"]);
    assert_eq!(new["files"][0], "HOOK.md");
    assert_eq!(run(&["promote", "made", "--dry-run"])["result"], "would_promote");
    assert_eq!(run(&["promote", "made"])["result"], "promoted");
    assert_eq!(run(&["promote", "made"])["result"], "unchanged");
    let removed = run(&["remove", "made"]);
    assert_eq!(run(&["add", removed["kept"].as_str().unwrap()])["hooks"][0]["name"], "made");
    let told = run(&["emit", "agent:idle", "--agent", "a"]);
    assert_eq!((&told["type"], &told["agent"]), (&"agent:idle".into(), &"a".into()));
    let is_told = |record: &&Value| record["id"] == told["record"];
    assert!(environment.journal().iter().any(|record| is_told(&record)), "{told}");
    let ran = environment.run(&["trust", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{ran:?}");
}

/// The front matters of the examples and of every hook that `new` makes.
/// What `verify` and `replay` print, with everything they can find.
#[test]
fn verify_and_replay_keep_to_their_schemas() {
    let environment = environment();
    let guard = environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: mkfs",
        "echo no >&2; exit 2",
    );
    for event in ["before_tool", "after_tool"] {
        environment.event(&json!({
            "event_type": event, "session_id": "s", "tool_use_id": "t", "tool_name": "Shell",
            "tool_input": {"command": "mkfs"},
        }));
    }
    environment.shell(&format!("echo ghp_{} mkfs", "a1B2c3D4e5F6".repeat(3)));
    write(&guard.join("scripts/run"), "#!/bin/sh\nexit 3\n", 0o755);
    let replay = environment.run(&["replay", "--json"]);
    assert_eq!(replay.json()["new_allows"].as_array().unwrap().len(), 1, "{replay:?}");
    assert_eq!(replay.json()["redacted"].as_array().unwrap().len(), 1, "{replay:?}");
    assert_eq!(replay.json()["failed"].as_array().unwrap().len(), 2, "{replay:?}");
    assert_valid(&environment, "replay", &replay.json());
    let segment = environment.segments().remove(0);
    let text = fs::read_to_string(&segment).unwrap();
    write(&segment, text.replace("event_type", "event_tipe"), 0o600);
    let verify = environment.run(&["verify", "--json"]).json();
    assert_eq!(verify["whole"], false);
    assert_valid(&environment, "verify", &verify);
    write(&segment, text, 0o600);
    let verify = environment.run(&["verify", "--json"]).json();
    assert_eq!(verify["denied_but_ran"].as_array().unwrap().len(), 1, "{verify}");
    assert_valid(&environment, "verify", &verify);
}

#[test]
fn front_matters_keep_to_their_schema() {
    let environment = environment();
    environment.run(&[
        "new",
        "made",
        "--trigger",
        "before_tool",
        "--tool",
        "Shell",
        "--pattern",
        "^a",
    ]);
    environment.user_hook(
        "full",
        "trigger: [before_tool, post-session]\nmatcher:\n  tool: A\n  pattern: b\ntimeout: 500\nasync: false\npriority: 7\nmetadata:\n  locked: true\non_failure: block\nmode: shadow\nhosts: [codex]\nstdout: context\npermissions: [read]",
        "exit 0",
    );
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hooks");
    let folders = [environment.user_hooks(), examples.into()];
    let mut count = 0;
    for folder in folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap().flatten()) {
        let bytes = fs::read(folder.path().join("HOOK.md")).unwrap();
        let matter = anyhook_engine::front_matter::FrontMatter::read(&bytes).unwrap();
        assert_valid(&environment, "front-matter", &matter.root.to_json());
        count += 1;
    }
    assert!(count > 10, "{count}");
    assert!(!is_valid(&environment, "front-matter", &json!({"name": "a", "trigger": "never"})));
}

/// The cases of the examples and of a new hook.
#[test]
fn cases_keep_to_their_schema() {
    let environment = environment();
    environment.run(&["new", "made", "--trigger", "before_tool"]);
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hooks");
    let folders = [environment.user_hooks(), examples.into()];
    for folder in folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap().flatten()) {
        for case in fs::read_dir(folder.path().join("tests")).unwrap().flatten() {
            let case: Value = serde_json::from_slice(&fs::read(case.path()).unwrap()).unwrap();
            assert_valid(&environment, "case", &case);
        }
    }
}

/// What a hook may print, as the format's own table has it.
#[test]
fn hook_outputs_keep_to_their_schema() {
    let environment = environment();
    for output in [
        json!({}),
        json!({"decision": "allow"}),
        json!({"decision": "deny", "reason": "r"}),
        json!({"decision": "ask", "reason": null}),
        json!({"modified_input": {"command": "x", "gone": null}}),
        json!({"additional_context": "c", "log": "l"}),
    ] {
        assert_valid(&environment, "output", &output);
    }
    for output in [json!([]), json!({"decision": "perhaps"}), json!({"modified_input": 3})] {
        assert!(!is_valid(&environment, "output", &output), "{output}");
    }
}
