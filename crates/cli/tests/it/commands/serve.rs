//! `anyhook serve --stdio`: lines in, lines out.

mod ends;
mod equal;
mod many;
mod server;

use serde_json::{Value, json};

use self::server::{Server, shell};
use crate::environment;

/// Blocks `rm`.
const GUARD: (&str, &str) = (
    "trigger: before_tool\nmatcher:\n  tool: Shell\n  pattern: ^rm ",
    "echo 'keep your files' >&2; exit 2",
);

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["serve", "--help"]));
}

/// There is one way to speak to it, so it need not be named.
#[test]
fn without_a_transport_it_speaks_through_its_streams() {
    let environment = environment();
    let request = json!({"id": 1, "event": shell("ls")}).to_string() + "\n";
    let ran = environment.run_with_input(&["serve"], &request);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    assert!(ran.stdout.ends_with("{\"id\": 1, \"verdict\": {}}\n"), "{ran:?}");
}

#[test]
fn every_form_of_a_request_is_answered() {
    let environment = environment();
    environment.user_hook("guard", GUARD.0, GUARD.1);
    let mut server = Server::start(&environment, &[]);
    assert_eq!(server.hello, json!({"anyhook": env!("CARGO_PKG_VERSION"), "protocol": 1}));

    assert_eq!(
        server.ask(&json!({"id": 1, "event": shell("ls")})),
        json!({"id": 1, "verdict": {}})
    );
    let denied = server.ask(&json!({"id": "b", "event": shell("rm -r .")}));
    let id = denied["verdict"]["id"].as_str().unwrap();
    assert_eq!(
        denied,
        json!({"id": "b", "verdict": {"decision": "deny", "reason": "keep your files", "id": id}})
    );
    assert_eq!(environment.run(&["log", "show", id]).code, 0);

    let native = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm x"}});
    for payload in [native.clone(), native.to_string().into()] {
        let reply = server.ask(&json!({"id": 2, "host": "claude-code", "payload": payload}));
        let stdout: Value =
            serde_json::from_str(reply["reply"]["stdout"].as_str().unwrap()).unwrap();
        assert_eq!(stdout["hookSpecificOutput"]["permissionDecision"], "deny", "{reply}");
    }
    // What was cut off is read as far as it goes, as `anyhook hook` does.
    let text = native.to_string();
    let cut = &text[..text.len() - 2];
    let reply = server.ask(&json!({"id": 3, "host": "claude-code", "payload": cut}));
    assert!(reply["reply"]["stdout"].as_str().unwrap().contains("deny"), "{reply}");
    let open = server.ask(&json!({"id": 4, "host": "agent-hooks", "payload": shell("rm x")}));
    assert_eq!(open["reply"]["exit_code"], 2, "{open}");
    server.finish();
}

#[test]
fn a_request_may_say_where_and_how_long() {
    let environment = environment();
    environment.user_hook("where", "trigger: before_agent", "pwd > \"$HOME/where\"; exit 0");
    environment.user_hook(
        "slow",
        "trigger: before_tool\ntimeout: 60000\non_failure: block",
        "sleep 60",
    );
    let mut server = Server::start(&environment, &[]);
    let folder = environment.home().join("elsewhere");
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    let place = |key: &str| {
        let mut request = json!({"id": 1, "event": {"event_type": "before_agent"}});
        request[key] = folder.to_str().unwrap().into();
        request
    };
    for key in ["work_dir", "project_dir"] {
        server.ask(&place(key));
        let seen = std::fs::read_to_string(environment.home().join("where")).unwrap();
        assert_eq!(seen.trim_end(), folder.to_str().unwrap(), "{key}");
    }
    let answer = server.ask(&json!({"id": 2, "event": shell("ls"), "deadline_ms": 150}));
    assert_eq!(answer["verdict"]["decision"], "deny", "{answer}");
    server.finish();
}

#[test]
fn every_error_has_its_code_and_ends_nothing() {
    let environment = environment();
    let mut server = Server::start(&environment, &[]);
    let deep = format!("{{\"id\": 5, \"event\": {}", "[".repeat(100_000));
    for (line, code, id) in [
        ("nonsense", "not_json", json!(null)),
        ("{\"id\": 5, \"event\": {\"event_type\": \"befo", "not_json", json!(5)),
        ("{\"id\": 5, \"event\": {\"event_type\": x}}", "not_json", json!(5)),
        (&deep, "not_json", json!(5)),
        ("\u{0}", "not_json", json!(null)),
        ("[]", "not_a_request", json!(null)),
        ("7", "not_a_request", json!(null)),
        ("{}", "not_a_request", json!(null)),
        ("{\"id\": true, \"event\": {}}", "not_a_request", json!(null)),
        ("{\"id\": 5}", "not_a_request", json!(5)),
        ("{\"id\": 5, \"event\": {}, \"more\": 1}", "not_a_request", json!(5)),
        ("{\"cancel\": [1]}", "not_a_request", json!(null)),
        ("{\"id\": 5, \"event\": 7}", "not_an_event", json!(5)),
        ("{\"id\": 5, \"event\": {}}", "not_an_event", json!(5)),
        ("{\"id\": 5, \"event\": {\"event_type\": 7}}", "not_an_event", json!(5)),
        ("{\"id\": \"x\", \"host\": \"emacs\", \"payload\": {}}", "unknown_host", json!("x")),
    ] {
        server.send_text(line);
        let answer = server.next();
        assert_eq!(answer["error"]["code"], code, "{line:.80}: {answer}");
        assert_eq!(answer["id"], id, "{line:.80}: {answer}");
        assert!(answer["error"]["message"].is_string() && answer["error"]["hint"].is_string());
    }
    assert_eq!(server.ask(&json!({"id": 1, "event": shell("ls")}))["verdict"], json!({}));
    server.finish();
}

#[test]
fn requests_keep_to_their_schema_or_are_refused() {
    let environment = environment();
    let schema = environment.run(&["schema", "serve-request"]).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut server = Server::start(&environment, &[]);
    let event = json!({"event_type": "before_tool"});
    for request in [
        json!({"id": 1, "event": event}),
        json!({"id": "a", "event": event, "deadline_ms": 1000, "work_dir": "/", "project_dir": "/"}),
        json!({"id": 1.5, "event": event, "deadline_ms": null}),
        json!({"id": 1, "host": "codex", "payload": {}}),
        json!({"id": 1, "host": "codex", "payload": ""}),
        json!({"id": 1, "host": "codex"}),
        json!({"id": 1, "payload": {}}),
        json!({"id": 1, "event": event, "host": "codex"}),
        json!({"id": 1, "event": event, "host": "codex", "payload": {}}),
        json!({"id": 1, "event": event, "cancel": 1}),
        json!({"id": 1}),
        json!({"id": {}, "event": event}),
        json!({"event": event}),
        json!({"id": 1, "event": event, "deadline_ms": -1}),
        json!({"id": 1, "event": event, "deadline_ms": "5"}),
        json!({"id": 1, "event": event, "extra": 1}),
        json!({"cancel": 1, "id": 1}),
    ] {
        let answer = server.ask(&request);
        let taken = answer["error"]["code"] != "not_a_request";
        assert_eq!(validator.is_valid(&request), taken, "{request}: {answer}");
    }
    assert!(validator.is_valid(&json!({"cancel": "a"})));
    server.finish();
}

#[test]
fn lines_may_come_in_pieces_and_the_last_without_an_end() {
    let environment = environment();
    environment.user_hook("guard", GUARD.0, GUARD.1);
    let mut server = Server::start(&environment, &[]);
    let line = json!({"id": "ü", "event": shell("rm ü")}).to_string();
    for byte in line.as_bytes() {
        server.send_bytes(&[*byte]);
    }
    server.send_bytes(b"\r\n\n  \n");
    assert_eq!(server.next()["verdict"]["decision"], "deny");
    server.send_bytes(b"\xef\xbb\xbf");
    server.send_bytes(line.as_bytes());
    let rest = server.finish();
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["verdict"]["decision"], "deny");
}

#[test]
fn an_edit_counts_at_the_very_next_event() {
    let environment = environment();
    let mut server = Server::start(&environment, &[]);
    let mut decision =
        || server.ask(&json!({"id": 1, "event": shell("rm x")}))["verdict"]["decision"].clone();
    assert_eq!(decision(), json!(null));
    for _ in 0..20 {
        environment.user_hook("guard", GUARD.0, GUARD.1);
        assert_eq!(decision(), "deny");
        environment.user_hook("guard", GUARD.0, r#"echo '{"decision": "ask"}'"#);
        assert_eq!(decision(), "ask");
        environment.user_hook("guard", "trigger: after_tool", GUARD.1);
        assert_eq!(decision(), json!(null));
    }
    environment.project_hook("project-guard", GUARD.0, GUARD.1);
    assert_eq!(decision(), json!(null), "nobody has trusted it");
    assert_eq!(environment.run(&["trust", "project-guard"]).code, 0);
    assert_eq!(decision(), "deny");
    assert_eq!(environment.run(&["untrust", "project-guard"]).code, 0);
    assert_eq!(decision(), json!(null));
    server.finish();
}

#[test]
fn events_of_ten_megabytes_and_lines_that_are_too_long() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: rm$",
        "echo no >&2; exit 2",
    );
    let mut server = Server::start(&environment, &[]);
    let long = "x".repeat(10_000_000);
    let answer = server.ask(&json!({"id": 1, "event": shell(&format!("{long} rm"))}));
    assert_eq!(answer["verdict"]["decision"], "deny");

    let huge = "x".repeat(65 * 1024 * 1024);
    server.send_text(&format!("{{\"id\": 2, \"event\": {{\"event_type\": \"{huge}\"}}}}"));
    let answer = server.next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(2), &json!("too_large")));
    assert_eq!(server.ask(&json!({"id": 3, "event": shell("ls")}))["verdict"], json!({}));
    server.finish();
}

/// What a person should know comes beside the verdict.
#[test]
fn warnings_are_messages() {
    let environment = environment();
    anyhook_testkit::write(&environment.state(), "no folder", 0o644);
    let mut server = Server::start(&environment, &[]);
    let answer = server.ask(&json!({"id": 1, "event": shell("ls")}));
    assert_eq!(answer["verdict"], json!({}));
    let messages = answer["messages"].as_array().unwrap();
    assert!(
        messages.last().unwrap().as_str().unwrap().starts_with("the journal cannot be written"),
        "{answer}"
    );
    server.finish();
}
