use std::io::{Read, Write};
use std::time::Instant;

use super::*;

fn ask(server: &ModelServer, path: &str, body: &Value) -> String {
    let mut stream = TcpStream::connect(server.address().unwrap()).unwrap();
    let body = body.to_string();
    write!(stream, "POST {path} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn script() -> Vec<ModelTurn> {
    let run = ModelTurn::tool("run", json!({"command": "ls"}));
    vec![run.clone().and(run), ModelTurn::text("hello")]
}

const PATHS: [&str; 4] =
    ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/models/x:generateContent"];

fn request(streamed: bool) -> Value {
    json!({"stream": streamed, "tools": [{"input_schema": {}, "functionDeclarations": []}]})
}

#[test]
fn plays_the_script_whole() {
    for path in PATHS {
        let server = ModelServer::start(script()).unwrap();
        let answer =
            || -> Value { serde_json::from_str(&ask(&server, path, &request(false))).unwrap() };
        let calls = answer().to_string();
        assert_eq!(calls.matches("\"run\"").count(), 2, "{calls}");
        assert!(tells(&answer(), "hello"), "{path}");
        assert!(tells(&answer(), "done"), "{path}");
        assert_eq!(server.requests(), [request(false), request(false), request(false)]);
    }
}

#[test]
fn plays_the_script_streamed() {
    for path in PATHS {
        let path = path.replace(":generate", ":streamGenerate");
        let server = ModelServer::start(script()).unwrap();
        let calls = ask(&server, &path, &request(true));
        for line in calls.lines().filter_map(|line| line.strip_prefix("data: ")) {
            assert!(line == "[DONE]" || serde_json::from_str::<Value>(line).is_ok(), "{line}");
        }
        assert!(calls.contains("\"run\""), "{calls}");
        assert!(ask(&server, &path, &request(true)).contains("hello"), "{path}");
    }
}

#[test]
fn agents_at_once_have_parts_of_their_own() {
    let server = ModelServer::start(vec![ModelTurn::text("nobody")]).unwrap();
    for name in ["ann", "bob"] {
        let turns = ["first", "second"].map(|turn| ModelTurn::text(format!("{turn} of {name}")));
        server.add_part(format!("I am {name}"), turns);
    }
    let answer = |name: &str| {
        let mut request = request(false);
        request["messages"] = json!([{"content": format!("I am {name}, hello")}]);
        ask(&server, "/v1/messages", &request)
    };
    for (name, told) in [("bob", "first of bob"), ("ann", "first of ann"), ("bob", "second of bob")]
    {
        assert!(answer(name).contains(told));
    }
    assert!(answer("bob").contains("done"));
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn tells_when_an_answer_was_sent() {
    let server = ModelServer::start(Vec::new()).unwrap();
    assert_eq!(server.sent_at(0), None);
    ask(&server, "/v1/messages", &json!({"messages": []}));
    let before = SystemTime::now();
    ask(&server, "/v1/messages", &request(true));
    // The answer reaches the client before the server has recorded when it was sent.
    let until = Instant::now() + Duration::from_secs(10);
    let sent = loop {
        match server.sent_at(0) {
            Some(sent) => break sent,
            None => assert!(Instant::now() < until, "it was never sent"),
        }
        thread::yield_now();
    };
    assert!(before <= sent && sent <= SystemTime::now());
    assert_eq!(server.sent_at(1), None, "a side request is no turn");
    server.add_turns([ModelTurn::text("unheard"), ModelTurn::text("more")]);
    assert!(ask(&server, "/v1/messages", &request(true)).contains("more"));
}

#[test]
fn can_refuse() {
    for path in PATHS {
        let server = ModelServer::start(vec![ModelTurn::refusal(429, "slow down")]).unwrap();
        let mut stream = TcpStream::connect(server.address().unwrap()).unwrap();
        let body = request(true).to_string();
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
        assert!(answer.contains("rate_limit_error") && answer.contains("slow down"));
    }
}

#[test]
fn side_requests_use_up_no_turn() {
    let server = ModelServer::start(script()).unwrap();
    for path in PATHS {
        ask(&server, path, &json!({"messages": []}));
    }
    assert!(ask(&server, "/v1/messages/count_tokens", &request(false)).contains("100"));
    assert!(ask(&server, "/v1/telemetry", &json!([])).contains("{}"));
    assert!(server.requests().is_empty());
    assert_eq!(server.side_requests().len(), 6);
    assert_eq!(server.side_requests()[0].target, "POST /v1/messages");
    assert!(ask(&server, "/v1/messages", &request(false)).contains("tool_use"));
}
