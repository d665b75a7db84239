//! Programs that speak on their standard input and output.

use std::time::Duration;

use anyhook_mcp::{Server, ServerError, ServerSession, ServerStep, ToolAnswer};
use anyhook_testkit::wait_until;
use serde_json::json;

use crate::{LONG, SHORT, Scripted, fault, limits};

#[test]
fn tools_are_listed_and_called() {
    let scripted = Scripted::new("normal");
    let mut session = scripted.open();
    let tools = session.tools().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names[..5], ["echo", "add", "fail", "refuse", "where"]);
    assert_eq!(names.len(), 12, "both pages");
    assert!(tools[0].takes("text") && !tools[0].takes("type"));
    let answer = session.call("echo", json!({"text": "hello é"})).unwrap();
    assert_eq!(answer, ToolAnswer { text: "you said\nhello é".to_owned(), structured: None });
    let answer = session.call("add", json!({})).unwrap();
    assert_eq!(answer.structured, Some(json!({"sum": 5})));
    let folder = scripted.scratch.path().canonicalize().unwrap();
    let answer = session.call("where", json!({})).unwrap();
    assert_eq!(answer.text, format!("{}\ns3cret", folder.display()));
    let answer = session.call("chatty", json!({})).unwrap();
    assert_eq!(answer.text, "done", "what is no answer is passed over");
    drop(session);
    scripted.must_be_gone();
}

#[test]
fn one_call_ends_the_server_with_all_it_has_started() {
    let scripted = Scripted::new("normal");
    let answer = anyhook_mcp::call(&scripted.server, "echo", json!({"text": "x"}), LONG).unwrap();
    assert_eq!(answer.text, "you said\nx");
    scripted.must_be_gone();
}

#[test]
fn a_tool_that_fails_is_an_error_and_the_server_goes_on() {
    let scripted = Scripted::new("normal");
    let mut session = scripted.open();
    let error = session.call("fail", json!({})).unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `tester`: its tool `fail` failed: no such city");
    let error = session.call("refuse", json!({})).unwrap_err();
    let refused = "the MCP server `tester`: it refused the call: not like that (code -32602)";
    assert_eq!(error.to_string(), refused);
    let error = session.call("unknown", json!({})).unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `tester`: it has no tool `unknown`");
    assert!(error.hint().starts_with("available: echo, add, fail"), "{}", error.hint());
    let error = session.call("echo", json!(["x"])).unwrap_err();
    assert!(matches!(error.fault, ServerError::Arguments), "{error}");
    assert_eq!(session.call("echo", json!({"text": "on"})).unwrap().text, "you said\non");
}

#[test]
fn a_server_that_is_not_there() {
    let server = Server::stdio("nobody", "/nowhere/server", ["x"]);
    let error = anyhook_mcp::call(&server, "echo", json!({}), LONG).unwrap_err();
    let text = error.to_string();
    let expected = "the MCP server `nobody`: `/nowhere/server` cannot be started: ";
    assert!(text.starts_with(expected), "{text}");
    assert!(error.hint().starts_with("install the program"), "{}", error.hint());
}

#[test]
fn a_server_that_ends_at_the_start() {
    let error = Scripted::new("dead").unusable(LONG);
    assert_eq!(
        error.to_string(),
        "the MCP server `tester`: it ended while connecting (exit code 1); last output: no \
         configuration"
    );
    let error = anyhook_mcp::call(&Server::stdio("t", "true", [""; 0]), "x", json!({}), LONG);
    let fault = fault(error.unwrap_err());
    assert!(matches!(&fault, ServerError::Ended { step: ServerStep::Connect, .. }), "{fault}");
}

#[test]
fn a_server_that_refuses() {
    let fault = fault(Scripted::new("refuses").unusable(LONG));
    let ServerError::Refused { step: ServerStep::Connect, code: -32001, message } = fault else {
        panic!("{fault}")
    };
    assert_eq!(message, "not today");
}

#[test]
fn a_server_that_closes_in_the_middle() {
    let closed = fault(Scripted::new("closes").unusable(LONG));
    let expected = ServerError::Closed { step: ServerStep::Connect, in_the_middle: true };
    assert_eq!(closed.to_string(), expected.to_string());
    let closed = fault(Scripted::new("normal").failure("half", LONG));
    assert!(
        matches!(closed, ServerError::Closed { step: ServerStep::Call, in_the_middle: true }),
        "{closed}"
    );
}

#[test]
fn a_server_that_dies_in_a_call_leaves_its_last_words() {
    let error = Scripted::new("normal").failure("die", LONG);
    let words = error.last_words.unwrap();
    assert!(words.ends_with("x out of memory") && words.len() <= 4096, "{words}");
    let ServerError::Ended { step: ServerStep::Call, how } = error.fault else {
        panic!("{}", error.fault)
    };
    assert_eq!(how, "exit code 3");
}

#[test]
fn a_server_that_does_not_answer() {
    let silent = fault(Scripted::new("silent").unusable(SHORT));
    // What it printed at the start is no answer either, and better than nothing.
    assert!(
        matches!(&silent, ServerError::Garbage(text) if text.contains("starting up")),
        "{silent}"
    );
    let scripted = Scripted::new("normal");
    let slow = fault(scripted.failure("slow", SHORT));
    assert!(
        matches!(slow, ServerError::TimedOut { step: ServerStep::Call, limit } if limit == SHORT),
        "{slow}"
    );
    assert_eq!(slow.to_string(), "it did not answer within 5 s before it answered the call");
}

#[test]
fn a_server_that_answers_garbage() {
    let garbage = fault(Scripted::new("garbage").unusable(SHORT));
    assert!(
        matches!(&garbage, ServerError::Garbage(text) if text.starts_with("{]{]")),
        "{garbage}"
    );
    let garbage = fault(Scripted::new("normal").failure("garbage", SHORT));
    assert!(
        matches!(&garbage, ServerError::Garbage(text) if text.starts_with("{]{]")),
        "{garbage}"
    );
}

#[test]
fn a_server_that_answers_another_request() {
    let other = fault(Scripted::new("normal").failure("other-id", LONG));
    assert!(matches!(&other, ServerError::OtherId { received } if received == "4711"), "{other}");
}

#[test]
fn an_answer_that_is_too_long() {
    for error in
        [Scripted::new("normal").failure("huge", LONG), Scripted::new("endless").unusable(LONG)]
    {
        assert!(matches!(error.fault, ServerError::TooLong { limit: 8_388_608 }), "{error}");
    }
}

#[test]
fn no_time_is_no_answer() {
    let error = Scripted::new("normal").unusable(Duration::ZERO);
    assert!(
        matches!(error.fault, ServerError::TimedOut { step: ServerStep::Connect, .. }),
        "{error}"
    );
}

/// Whoever asked may have had enough: the server ends with what it has started.
#[test]
fn a_session_is_stopped_from_outside() {
    let scripted = Scripted::new("silent");
    let limits = limits(LONG);
    let stop = limits.stop.clone();
    let error = std::thread::scope(|scope| {
        let session =
            scope.spawn(|| ServerSession::open(&scripted.server, limits.clone()).unwrap_err());
        wait_until("the server to be started", || scripted.started() == 1);
        stop.now();
        session.join().unwrap()
    });
    assert!(matches!(error.fault, ServerError::Stopped), "{error}");
    scripted.must_be_gone();
    let error = ServerSession::open(&scripted.server, limits).unwrap_err();
    assert!(matches!(error.fault, ServerError::Stopped), "nothing begins after it: {error}");
    scripted.must_be_gone();
}
