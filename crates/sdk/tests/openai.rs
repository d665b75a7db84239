//! A model behind a server: what is asked, what is read, and all that can go wrong on the way.

#![cfg(feature = "openai")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

#[path = "openai/encryption.rs"]
mod encryption;
#[path = "openai/failures.rs"]
mod failures;
#[path = "openai/server.rs"]
mod server;

use std::future::poll_fn;
use std::time::Duration;

use anyhook_sdk::agent::{
    Message, Model, ModelError, ModelEvent, ModelRequest, ModelStream, RequestedCall, StopReason,
    ToolDescription, Usage,
};
use anyhook_sdk::openai::OpenAiModel;
use anyhook_testkit::model_server::{ModelServer, ModelTurn};
use serde_json::{Value, json};

use server::{Server, Step};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

/// An answer as it comes from a server: text, two calls in pieces, the cost.
const RECORDED: &str = concat!(
    ": connected\n\n",
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,",
    "\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}],\"usage\":null}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Schöne \"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grüße 🌍\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_a\",",
    "\"type\":\"function\",\"function\":{\"name\":\"Shell\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,",
    "\"function\":{\"arguments\":\"{\\\"command\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"call_b\",",
    "\"type\":\"function\",\"function\":{\"name\":\"ReadFile\",\"arguments\":\"{}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,",
    "\"function\":{\"arguments\":\"\\\"ls ä\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":34}}\n\n",
    "data: [DONE]\n\n",
);

/// The shortest answer.
const SHORT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

fn call(id: &str, name: &str, arguments: &str) -> RequestedCall {
    RequestedCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn recorded() -> Vec<ModelEvent> {
    vec![
        text("Schöne "),
        text("Grüße 🌍"),
        ModelEvent::Usage(Usage { input_tokens: 12, output_tokens: 34 }),
        ModelEvent::Call(call("call_a", "Shell", "{\"command\":\"ls ä\"}")),
        ModelEvent::Call(call("call_b", "ReadFile", "{}")),
        ModelEvent::Done(StopReason::Calls),
    ]
}

fn short() -> Vec<ModelEvent> {
    vec![text("hi"), ModelEvent::Done(StopReason::Finished)]
}

fn write(text: impl AsRef<[u8]>) -> Step {
    Step::Write(text.as_ref().to_vec())
}

fn answer(body: &str) -> Vec<Step> {
    vec![write(HEAD), write(body)]
}

/// An answer in which each piece is a chunk of its own, so that no network joins them.
fn chunked<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Step> {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut bytes = head.as_bytes().to_vec();
    for piece in pieces {
        bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        bytes.extend([piece, b"\r\n"].concat());
    }
    vec![write(bytes), write("0\r\n\r\n")]
}

fn greeting() -> ModelRequest {
    let mut request = ModelRequest::default();
    request.messages = vec![Message::user("hello")];
    request
}

async fn next(stream: &mut ModelStream) -> Option<Result<ModelEvent, ModelError>> {
    let next = poll_fn(|context| stream.as_mut().poll_next(context));
    tokio::time::timeout(Duration::from_secs(20), next).await.expect("the stream goes on")
}

/// Asks for the whole answer: the events, and the error after them.
async fn ask(model: &OpenAiModel) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut events = Vec::new();
    let mut stream = match model.ask(greeting()).await {
        Ok(stream) => stream,
        Err(error) => return (events, Some(error)),
    };
    let mut failure = None;
    while let Some(item) = next(&mut stream).await {
        assert_eq!(failure, None, "an error is the end");
        match item {
            Ok(event) => events.push(event),
            Err(error) => failure = Some(error),
        }
    }
    (events, failure)
}

#[tokio::test]
async fn an_answer_comes_piece_by_piece() {
    let server = Server::start(vec![answer(RECORDED)]).await;
    assert_eq!(ask(&server.model()).await, (recorded(), None));
}

#[tokio::test]
async fn a_piece_is_there_before_the_next_one_is_sent() {
    let (first, rest) = RECORDED.split_at(
        RECORDED.find("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grü").unwrap(),
    );
    let script = vec![write(HEAD), write(first), Step::UntilClosed, write(rest)];
    let server = Server::start(vec![script]).await;
    let mut stream = server.model().ask(greeting()).await.unwrap();
    assert_eq!(next(&mut stream).await, Some(Ok(text("Schöne "))));
}

#[tokio::test]
async fn an_answer_may_be_cut_at_every_byte() {
    let server = Server::start(vec![chunked(RECORDED.as_bytes().chunks(1))]).await;
    assert_eq!(ask(&server.model()).await, (recorded(), None));
}

#[tokio::test]
async fn lines_may_end_with_a_carriage_return() {
    let body = RECORDED.replace('\n', "\r\n");
    let scripts = vec![answer(&body), chunked(body.as_bytes().chunks(1))];
    let server = Server::start(scripts).await;
    assert_eq!(ask(&server.model()).await, (recorded(), None));
    assert_eq!(ask(&server.model()).await, (recorded(), None));
}

#[tokio::test]
async fn the_end_of_the_stream_may_stand_for_done() {
    let server = Server::start(vec![answer(SHORT.strip_suffix("data: [DONE]\n\n").unwrap())]).await;
    assert_eq!(ask(&server.model()).await, (short(), None));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = json!({
        "id": "c1", "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Grüße", "refusal": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "Shell", "arguments": "{}"}},
            ],
        }}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    });
    let body = serde_json::to_string_pretty(&body).unwrap();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    // The connection stays open: the length alone says where the answer ends.
    let server = Server::start(vec![vec![write(head), write(body), Step::UntilClosed]]).await;
    let expected = vec![
        text("Grüße"),
        ModelEvent::Usage(Usage { input_tokens: 1, output_tokens: 2 }),
        ModelEvent::Call(call("a", "Shell", "{}")),
        ModelEvent::Done(StopReason::Calls),
    ];
    assert_eq!(ask(&server.model()).await, (expected, None));
}

#[tokio::test]
async fn a_request_says_all() {
    let server = Server::start(vec![answer(SHORT)]).await;
    let mut request = ModelRequest::default();
    request.instructions = "Be kind.".to_owned();
    request.messages = vec![
        Message::user("list"),
        Message::Assistant { text: String::new(), calls: vec![call("a", "Shell", "{\"c\":1}")] },
        Message::Tool { call_id: "a".to_owned(), name: "Shell".to_owned(), text: "x".to_owned() },
        Message::assistant("done"),
    ];
    let schema = json!({"type": "object", "properties": {"c": {"type": "integer"}}});
    request.tools = vec![ToolDescription {
        name: "Shell".to_owned(),
        description: "Runs a command".to_owned(),
        schema: schema.clone(),
    }];
    request.answer_schema = Some(json!({"type": "string"}));
    let model = server.model().temperature(0.5).max_tokens(100).parameter("seed", 7);
    drop(model.ask(request).await.unwrap());

    let function = json!({"name": "Shell", "description": "Runs a command", "parameters": schema});
    let format = json!({"name": "answer", "schema": {"type": "string"}});
    let expected = json!({
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "list"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function",
                 "function": {"name": "Shell", "arguments": "{\"c\":1}"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "x"},
            {"role": "assistant", "content": "done"},
        ],
        "tools": [{"type": "function", "function": function}],
        "response_format": {"type": "json_schema", "json_schema": format},
        "stream": true,
        "stream_options": {"include_usage": true},
        "temperature": 0.5,
        "max_tokens": 100,
        "seed": 7,
    });
    assert_eq!(server.seen()[0].body, expected);
}

#[tokio::test]
async fn a_small_request_says_no_more_than_it_must() {
    let server = Server::start(vec![answer(SHORT)]).await;
    let model = server.model().parameter("stream_options", Value::Null);
    assert_eq!(ask(&model).await, (short(), None));
    let expected = json!({
        "model": "test-model", "messages": [{"role": "user", "content": "hello"}], "stream": true,
    });
    assert_eq!(server.seen()[0].body, expected);
}

#[tokio::test]
async fn headers_are_sent() {
    let server = Server::start(vec![answer(SHORT), answer(SHORT)]).await;
    ask(&server.model().api_key(" sk-secret\n").header("X-Title", "test")).await;
    ask(&server.model()).await;
    let seen = server.seen();
    assert!(seen[0].head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{seen:?}");
    assert_eq!(seen[0].header("host"), Some(server.address.to_string().as_str()));
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
    assert_eq!(seen[0].header("authorization"), Some("Bearer sk-secret"));
    assert_eq!(seen[0].header("x-title"), Some("test"));
    assert_eq!(seen[1].header("authorization"), None);
}

#[tokio::test]
async fn a_conversation_with_tools_is_held() {
    let script =
        vec![ModelTurn::tool("Shell", json!({"command": "ls"})), ModelTurn::text("two files")];
    let server = ModelServer::start(script).unwrap();
    let model = OpenAiModel::new(format!("http://{}/v1", server.address().unwrap()), "m");
    let mut request = greeting();
    request.tools = vec![ToolDescription {
        name: "Shell".to_owned(),
        description: String::new(),
        schema: json!({"type": "object"}),
    }];
    let mut answers = Vec::new();
    for _ in 0..2 {
        let mut stream = model.ask(request.clone()).await.unwrap();
        while let Some(event) = next(&mut stream).await {
            let event = event.unwrap();
            if let ModelEvent::Call(call) = &event {
                let (call_id, name) = (call.id.clone(), call.name.clone());
                let calls = vec![call.clone()];
                request.messages.push(Message::Assistant { text: String::new(), calls });
                request.messages.push(Message::Tool { call_id, name, text: "a b".to_owned() });
            }
            answers.push(event);
        }
    }
    let usage = ModelEvent::Usage(Usage { input_tokens: 100, output_tokens: 10 });
    let expected = [
        usage.clone(),
        ModelEvent::Call(call("call_1_0", "Shell", "{\"command\":\"ls\"}")),
        ModelEvent::Done(StopReason::Calls),
        text("two files"),
        usage,
        ModelEvent::Done(StopReason::Finished),
    ];
    assert_eq!(answers, expected);
    assert_eq!(server.requests()[1]["messages"][2]["content"], "a b");
}
