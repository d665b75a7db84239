//! `anyhook mcp`: what a client is told, and that it can change nothing.

mod journal;
mod living;

use std::collections::BTreeSet;

use anyhook_mcp::{Endpoint, Server, ServerError, ServerSession, SessionLimits};
use anyhook_testkit::{TestEnv, write};
use serde_json::{Value, json};

use crate::environment;

const TOOLS: [&str; 9] = [
    "list_agents",
    "show_agent",
    "list_decisions",
    "show_decision",
    "search_journal",
    "show_record",
    "hooks_in_force",
    "list_pipelines",
    "stats",
];

fn request(id: usize, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Sends lines, closes the way in, and returns the answers once the server has ended well.
fn answers_to(environment: &TestEnv, lines: &str) -> Vec<Value> {
    let ran = environment.run_with_input(&["mcp"], lines);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Calls tools, all at once, and returns their results in the order of the calls. Each that is no
/// error keeps to the schema of its tool, and says the same as text.
fn call_all(environment: &TestEnv, calls: &[(&str, Value)]) -> Vec<Value> {
    let mut lines = request(0, "tools/list", &json!({})).to_string();
    for (index, (tool, arguments)) in calls.iter().enumerate() {
        let params = json!({"name": tool, "arguments": arguments});
        lines.push('\n');
        lines.push_str(&request(index + 1, "tools/call", &params).to_string());
    }
    let mut answers = answers_to(environment, &lines);
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let list = answers.remove(0)["result"]["tools"].take();
    assert_eq!(answers.len(), calls.len(), "{answers:?}");
    for ((name, _), answer) in calls.iter().zip(&answers) {
        let result = &answer["result"];
        if result["isError"] != false {
            continue;
        }
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
        let tool = list.as_array().unwrap().iter().find(|tool| tool["name"] == *name).unwrap();
        let schema = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
        let errors: Vec<String> = schema
            .iter_errors(&result["structuredContent"])
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}\n{result:#}");
    }
    answers.into_iter().map(|mut answer| answer["result"].take()).collect()
}

/// Returns what a tool returns.
fn call(environment: &TestEnv, tool: &str, arguments: Value) -> Value {
    let mut result = call_all(environment, &[(tool, arguments)]).remove(0);
    assert_eq!(result["isError"], false, "{result:#}");
    result["structuredContent"].take()
}

/// Returns the message of a call that fails.
fn failure(environment: &TestEnv, tool: &str, arguments: Value) -> String {
    let result = call_all(environment, &[(tool, arguments)]).remove(0);
    assert_eq!(result["isError"], true, "{result:#}");
    assert!(result.get("structuredContent").is_none(), "{result:#}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["mcp", "--help"]));
}

#[test]
fn every_tool_only_reads() {
    let environment = environment();
    let answers = answers_to(&environment, &request(1, "tools/list", &json!({})).to_string());
    let tools = answers[0]["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS);
    for tool in tools {
        let annotations = &tool["annotations"];
        assert_eq!(
            (&annotations["readOnlyHint"], &annotations["destructiveHint"]),
            (&json!(true), &json!(false))
        );
        // A description of an argument that does not exist would be a lie.
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool:#}");
        for schema in ["inputSchema", "outputSchema"] {
            jsonschema::meta::validate(&tool[schema]).unwrap();
        }
    }
    // Whatever changes something has no tool, by no name.
    for name in [
        "resolve_decision",
        "claim_decision",
        "release_decision",
        "revoke_decision",
        "decision_resolve",
        "send",
        "send_keys",
        "agent_send",
        "agent_kill",
        "kill_agent",
        "thaw_agent",
        "rename_agent",
        "attach",
        "trust",
        "untrust",
        "promote",
        "add",
        "remove",
        "emit",
        "run_pipeline",
        "cancel_pipeline",
        "resume_pipeline",
        "stop_daemon",
        "start_daemon",
        "undo",
        "reload",
        "",
    ] {
        let params = json!({"name": name, "arguments": {"id": "7k2m", "choice": "allow"}});
        let answers = answers_to(&environment, &request(1, "tools/call", &params).to_string());
        assert_eq!(answers[0]["error"]["code"], -32602, "{name}: {answers:?}");
        assert_eq!(answers[0]["error"]["message"], format!("Unknown tool: {name}"));
    }
    // Nothing was made, not even by being started: no state, no daemon.
    assert!(environment.daemon().is_none());
    assert!(environment.all_records().is_empty());
}

/// The requests that it could send to the daemon are those that only read.
#[test]
fn its_code_has_no_request_that_changes_anything() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/commands/mcp");
    let mut requests = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for (_, rest) in
            text.match_indices("Request::").map(|(at, name)| text.split_at(at + name.len()))
        {
            let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            requests.insert(name);
        }
    }
    assert_eq!(requests, BTreeSet::from(["Agents", "Decisions", "Pipelines"].map(str::to_owned)));
}

#[test]
fn our_own_client_reads_it() {
    let environment = environment();
    environment.shell("ls");
    let mut server = Server::stdio("anyhook", crate::program(), ["mcp"]);
    if let Endpoint::Stdio { environment: variables, work_dir, .. } = &mut server.endpoint {
        for (name, value) in environment.command(&[]).get_envs() {
            let value = value.unwrap_or_default().to_str().unwrap();
            variables.push((name.to_str().unwrap().to_owned(), value.to_owned()));
        }
        *work_dir = Some(environment.project().to_str().unwrap().to_owned());
    }
    let mut session = ServerSession::open(&server, SessionLimits::default()).unwrap();
    let names: Vec<String> = session.tools().unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, TOOLS);
    let answer = session.call("search_journal", json!({"tool": "Shell"})).unwrap();
    let structured = answer.structured.unwrap();
    assert_eq!(structured["records"][0]["about"], "ls", "{structured:#}");
    assert_eq!(serde_json::from_str::<Value>(&answer.text).unwrap(), structured);
    let error = session.call("search_journal", json!({"verdict": "maybe"})).unwrap_err();
    assert!(
        matches!(&error.fault, ServerError::ToolFailed { message, .. }
            if message.starts_with("`verdict`: `maybe` is not one of deny, ask, allow")),
        "{error}"
    );
    let error =
        session.call("resolve_decision", json!({"id": "x", "choice": "allow"})).unwrap_err();
    assert!(matches!(error.fault, ServerError::NoSuchTool { .. }), "{error}");
}

/// An agent starts it, so it may: it reads what the agent can read with the commands.
#[test]
fn an_agent_may_run_it() {
    let environment = environment();
    let mut command = environment.command(&["mcp"]);
    command.env("CLAUDECODE", "1");
    let ping = request(1, "ping", &json!({})).to_string();
    let ran = anyhook_testkit::run(command, ping.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert_eq!(ran.stdout, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}\n");
}

#[test]
fn what_a_client_may_get_wrong() {
    let environment = environment();
    let huge =
        format!("{{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"{}\"}}", "x".repeat(3 << 20));
    let deep = "{\"a\":".repeat(50_000);
    let lines = [
        "nonsense",
        &huge,
        &deep,
        "\u{feff}{}",
        r#"{"jsonrpc": "2.0", "id": 2, "method": "prompts/list"}"#,
        r#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}"#,
        r#"{"jsonrpc": "2.0", "id": 3, "method": "ping"}"#,
    ];
    let answers = answers_to(&environment, &lines.join("\n"));
    let told: Vec<(&Value, &Value)> =
        answers.iter().map(|answer| (&answer["id"], &answer["error"]["code"])).collect();
    let null = &Value::Null;
    assert_eq!(
        told,
        [
            (null, &json!(-32700)),
            (&json!(1), &json!(-32600)),
            (null, &json!(-32700)),
            (null, &json!(-32700)),
            (&json!(2), &json!(-32601)),
            (&json!(3), null),
        ],
        "{answers:?}"
    );
    assert_eq!(answers_to(&environment, ""), [] as [Value; 0]);
    for (tool, arguments, message) in [
        (
            "list_agents",
            json!({"state": ["asleep"]}),
            "`state`: `asleep` is not one of working, idle, prompting, failed, exited, gone",
        ),
        ("list_agents", json!({"project": ""}), "`project`: the pattern is empty"),
        ("search_journal", json!({"since": "yesterday"}), "`since`: expected a duration"),
        ("search_journal", json!({"limit": "many"}), "arguments: invalid type: string \"many\""),
        (
            "search_journal",
            json!({"agent": "codex"}),
            "arguments: unknown field `agent`, expected one of `since`",
        ),
        (
            "search_journal",
            json!({"before": "zzzzzzzz"}),
            "`before`: there is no record `zzzzzzzz`",
        ),
        ("show_record", json!({}), "arguments: missing field `record`"),
        ("show_record", json!({"record": "zzzz"}), "no record `zzzz`"),
        ("show_record", json!({"record": ""}), "not a record id"),
        (
            "hooks_in_force",
            json!({"project": "relative"}),
            "`project`: `relative` is not the absolute path of a folder",
        ),
        ("stats", json!({"since": "1h", "until": "2h"}), "the period ends before it begins"),
        (
            "stats",
            json!({"hooks": ["nope"]}),
            "hook `nope` is neither installed nor in the journal",
        ),
    ] {
        let told = failure(&environment, tool, arguments.clone());
        assert!(told.contains(message), "{tool} {arguments}: {told}");
    }
}

#[test]
fn the_hooks_of_a_project_are_listed_as_by_list() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    environment.project_hook("ours", "trigger: before_stop", "exit 0");
    write(&environment.project_hooks().join("bad/HOOK.md"), "---\nname: 7\n---\n", 0o644);
    let listed = environment.run(&["list", "--json"]).json();
    let hooks = call(&environment, "hooks_in_force", json!({}));
    assert_eq!(hooks["hooks"], listed["hooks"]);
    assert_eq!(hooks["notes"], listed["notes"]);
    assert_eq!(listed["hooks"].as_array().unwrap().len(), 3, "{listed:#}");
    assert_eq!(hooks["project"].as_str(), environment.project().to_str());
    // From elsewhere, the project has to be named.
    let other = environment.root().join("other");
    std::fs::create_dir(&other).unwrap();
    let hooks = call(&environment, "hooks_in_force", json!({"project": other}));
    assert_eq!(hooks["hooks"].as_array().unwrap().len(), 1, "{hooks:#}");
}
