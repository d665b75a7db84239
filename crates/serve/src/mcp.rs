//! A server of the Model Context Protocol on standard input and output: `anyhook mcp`.
//!
//! It offers tools and nothing else, never asks its client anything, and keeps no state that an
//! answer depends on. That leaves little of the protocol: five methods and one notification, a few
//! hundred lines on top of what `serve --stdio` needs anyway. The crate `rmcp`, which our client uses, brings the
//! other direction as well, a runtime and schemas made at run time: measured with fat LTO, an empty
//! server of it is 1.4 MB larger than one that reads and writes JSON, and takes 54 s of processor
//! time more to compile. A program that has no use for the client would carry all of it.
//!
//! Two kinds of clients are served, in any mixture:
//!
//! - up to version 2025-11-25 a client begins with `initialize`, which settles the version;
//! - from 2026-07-28 on each request names its version in `_meta`, and there is no beginning.
//!
//! A request that does neither is answered as after `initialize` with the last version that has it.

mod answer;
mod message;
mod version;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhook_model::json::{Object, members};
use anyhook_model::serve::RequestId;
use serde_json::{Value, json};

use self::answer::{ErrorCode, RpcError, error_reply, reply};
use self::message::{Message, Request};
use self::version::{Era, HANDSHAKES};
use crate::answers::{AnswerWriter, RequestInFlight};
use crate::line_server::{self, LineProtocol};
use crate::lines::InputLine;

/// How many calls are answered at once: one that reads much must not keep others waiting.
const THREADS: usize = 4;

/// How long a client may keep the list of tools, in milliseconds: it changes with the program only.
const LIST_KEEPS_MS: u64 = 3_600_000;

/// The tools of a server.
pub trait Tools: Send + Sync + 'static {
    /// Returns what a model should know before it calls a tool.
    fn instructions(&self) -> &str;

    /// Returns the tools as the newest version of the protocol lists them: an array of objects.
    fn list(&self) -> &Value;

    /// Calls a tool of the list. May end early once the result is not wanted any more.
    fn call(&self, tool: &str, arguments: Object, is_wanted: &dyn Fn() -> bool) -> ToolResult;
}

/// The result of a tool: an object that keeps to its output schema, or what went wrong and what to
/// do about it, for the model.
pub type ToolResult = Result<Value, String>;

/// Serves tools until standard input ends and every call is answered, or nobody reads the answers.
pub fn serve(tools: impl Tools) -> io::Result<()> {
    line_server::run(McpProtocol::new(tools), THREADS, None::<&()>)
}

struct McpProtocol<T> {
    tools: T,
    /// The index in [`HANDSHAKES`] of the version that `initialize` settled.
    settled: AtomicUsize,
}

/// A call of a tool that waits for its turn.
struct ToolCall {
    era: Era,
    tool: String,
    arguments: Object,
}

/// What a request comes to.
enum Outcome {
    Result(Value),
    Call(ToolCall),
}

impl<T: Tools> McpProtocol<T> {
    fn new(tools: T) -> Self {
        Self { tools, settled: AtomicUsize::new(HANDSHAKES.len() - 1) }
    }

    /// Reads a request; all but a call is answered at once.
    fn handle(&self, request: &mut Request) -> Result<Outcome, RpcError> {
        let settled = self.settled.load(Ordering::Relaxed);
        let era = Era::of(request.params.as_ref(), settled)?;
        let params = request.params.take().unwrap_or_default();
        let result = match (request.method.as_str(), era) {
            ("initialize", Era::Handshake(_)) => self.initialize(&params)?,
            ("ping", Era::Handshake(_)) => era.complete(Object::new()),
            ("server/discover", Era::Modern) => era.cacheable(self.discover(), LIST_KEEPS_MS),
            ("server/discover", Era::Handshake(_)) => return Err(Era::missing_version()),
            ("tools/list", _) => self.list(era, &params)?,
            ("tools/call", _) => return self.call(era, params).map(Outcome::Call),
            (method, _) => return Err(RpcError::method_not_found(method)),
        };
        Ok(Outcome::Result(result))
    }

    /// Settles the version: the client's, if it has a handshake and we know it, else our newest.
    fn initialize(&self, params: &Object) -> Result<Value, RpcError> {
        let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
            return Err(RpcError::invalid_params("`protocolVersion` must be a string"));
        };
        let settled = version::settle(asked);
        self.settled.store(settled, Ordering::Relaxed);
        Ok(json!({
            "protocolVersion": HANDSHAKES[settled],
            "capabilities": capabilities(),
            "serverInfo": answer::server_info(),
            "instructions": self.tools.instructions(),
        }))
    }

    fn discover(&self) -> Object {
        let mut result = Object::new();
        result.insert("supportedVersions".to_owned(), version::supported());
        result.insert("capabilities".to_owned(), capabilities());
        result.insert("instructions".to_owned(), self.tools.instructions().into());
        result
    }

    fn list(&self, era: Era, params: &Object) -> Result<Value, RpcError> {
        // Everything is on the first page.
        if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return Err(RpcError::invalid_params("unknown cursor"));
        }
        let mut tools = self.tools.list().clone();
        for tool in tools.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            era.leave_out_unknown(tool);
        }
        let mut result = Object::new();
        result.insert("tools".to_owned(), tools);
        Ok(era.cacheable(result, LIST_KEEPS_MS))
    }

    fn call(&self, era: Era, mut params: Object) -> Result<ToolCall, RpcError> {
        let Some(Value::String(tool)) = params.remove("name") else {
            return Err(RpcError::invalid_params("`name` must be a string"));
        };
        let mut known = self.tools.list().as_array().into_iter().flatten();
        if !known.any(|one| one["name"] == tool.as_str()) {
            return Err(RpcError::invalid_params(&format!("Unknown tool: {tool}")));
        }
        let arguments = match params.remove("arguments") {
            Some(Value::Object(arguments)) => arguments,
            None | Some(Value::Null) => Object::new(),
            Some(_) => return Err(RpcError::invalid_params("`arguments` must be an object")),
        };
        Ok(ToolCall { era, tool, arguments })
    }

    fn perform(&self, call: &ToolCall, is_wanted: &dyn Fn() -> bool) -> Value {
        let result = self.tools.call(&call.tool, call.arguments.clone(), is_wanted);
        answer::of_tool(result, call.era)
    }

    /// Answers a message of a batch, call or not; a notification has no answer.
    fn answer_in_batch(&self, message: Value) -> Option<Value> {
        match message::read(message) {
            Ok(Message::Request(mut request)) => {
                let id = request.id.clone();
                Some(match self.handle(&mut request) {
                    Ok(Outcome::Result(result)) => reply(&id, result),
                    Ok(Outcome::Call(call)) => reply(&id, self.perform(&call, &|| true)),
                    Err(error) => error_reply(Some(&id), &error),
                })
            }
            Ok(Message::Cancelled(_) | Message::Nothing) => None,
            Err((id, error)) => Some(error_reply(id.as_ref(), &error)),
        }
    }

    /// Answers an array of messages: version 2025-03-26 had them.
    fn answer_batch(&self, messages: Vec<Value>) -> Option<Value> {
        let settled = HANDSHAKES[self.settled.load(Ordering::Relaxed)];
        if settled != version::WITH_BATCHES || messages.is_empty() {
            let error = RpcError::new(ErrorCode::INVALID_REQUEST, "send one message on each line");
            return Some(error_reply(None, &error));
        }
        let answers: Vec<Value> =
            messages.into_iter().filter_map(|one| self.answer_in_batch(one)).collect();
        (!answers.is_empty()).then_some(Value::Array(answers))
    }

    fn take_in_request(
        &self,
        mut request: Request,
        bytes: usize,
        answers: &AnswerWriter,
    ) -> Option<(RequestInFlight, ToolCall, usize)> {
        let id = request.id.clone();
        match self.handle(&mut request) {
            Ok(Outcome::Result(result)) => answers.write(&reply(&id, result)),
            Ok(Outcome::Call(call)) => match answers.begin(id.clone()) {
                Some(begun) => return Some((begun, call, bytes)),
                None => {
                    let what = "a request with this id is still in flight";
                    let error = RpcError::new(ErrorCode::INVALID_REQUEST, what);
                    answers.write(&error_reply(Some(&id), &error));
                }
            },
            Err(error) => answers.write(&error_reply(Some(&id), &error)),
        }
        None
    }
}

impl<T: Tools> LineProtocol for McpProtocol<T> {
    type Job = ToolCall;
    type Answer = Value;

    /// A call is a few names and numbers.
    const LINE_LIMIT: usize = 1024 * 1024;

    fn take_in(
        &self,
        line: InputLine,
        answers: &AnswerWriter,
    ) -> Option<(RequestInFlight, ToolCall, usize)> {
        let line = match line {
            InputLine::Whole(line) => line,
            InputLine::TooLong(beginning) => {
                let id = id_in(&String::from_utf8_lossy(&beginning));
                let what = "the line is longer than 1 MiB";
                let error = RpcError::new(ErrorCode::INVALID_REQUEST, what);
                answers.write(&error_reply(id.as_ref(), &error));
                return None;
            }
        };
        let message = match serde_json::from_slice(&line) {
            Ok(Value::Array(messages)) => {
                if let Some(reply) = self.answer_batch(messages) {
                    answers.write(&reply);
                }
                return None;
            }
            Ok(message) => message,
            Err(error) => {
                let error = RpcError::new(ErrorCode::PARSE_ERROR, &error.to_string());
                answers.write(&error_reply(None, &error));
                return None;
            }
        };
        match message::read(message) {
            Ok(Message::Request(request)) => {
                return self.take_in_request(request, line.len(), answers);
            }
            Ok(Message::Cancelled(id)) => answers.cancel(&id, None::<&()>),
            Ok(Message::Nothing) => {}
            Err((id, error)) => answers.write(&error_reply(id.as_ref(), &error)),
        }
        None
    }

    fn answer(
        &self,
        begun: &RequestInFlight,
        call: &ToolCall,
        is_wanted: &dyn Fn() -> bool,
    ) -> Value {
        reply(begun.id(), self.perform(call, is_wanted))
    }

    fn fault(&self, begun: &RequestInFlight) -> Value {
        let error = RpcError::new(ErrorCode::INTERNAL, "internal error; please report it");
        error_reply(Some(begun.id()), &error)
    }
}

/// Tools, which never change while the program runs.
fn capabilities() -> Value {
    json!({"tools": {}})
}

/// Returns the id of a message of which only the beginning is known.
fn id_in(beginning: &str) -> Option<RequestId> {
    let id = serde_json::from_str::<Value>(members(beginning).get("id")?).ok()?;
    RequestId::try_from(id).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::version::MODERN;
    use super::*;
    use crate::answers::tests::Written;
    use crate::line_server::{WaitingJob, take_in, take_turns};
    use crate::queue::Queue;

    /// `echo` returns its arguments, `fail` fails, `wait` waits until nobody wants it any more.
    struct TestTools(Value);

    impl TestTools {
        fn new() -> Self {
            let tool = |name: &str| {
                json!({
                    "name": name,
                    "title": name,
                    "inputSchema": {"type": "object"},
                    "outputSchema": {"type": "object"},
                    "annotations": {"readOnlyHint": true},
                })
            };
            Self(json!([tool("echo"), tool("fail"), tool("wait"), tool("panic")]))
        }
    }

    impl Tools for TestTools {
        fn instructions(&self) -> &'static str {
            "try them"
        }

        fn list(&self) -> &Value {
            &self.0
        }

        fn call(&self, tool: &str, arguments: Object, is_wanted: &dyn Fn() -> bool) -> ToolResult {
            match tool {
                "echo" => Ok(Value::Object(arguments)),
                "wait" => {
                    while is_wanted() {
                        std::thread::yield_now();
                    }
                    Err("nobody waits".to_owned())
                }
                "fail" => Err("it failed".to_owned()),
                _ => panic!("a fault of ours"),
            }
        }
    }

    /// Returns the answers to lines, calls after everything else.
    fn answers(lines: &str) -> Vec<Value> {
        std::panic::set_hook(Box::new(|_| {}));
        let written = Written::default();
        let (notify, _notices) = mpsc::channel();
        let answers = AnswerWriter::new(Box::new(written.clone()), notify);
        let protocol = McpProtocol::new(TestTools::new());
        let queue: Queue<WaitingJob<McpProtocol<TestTools>>> = Queue::new(100, usize::MAX);
        take_in(&protocol, lines.as_bytes(), &queue, &answers);
        queue.close();
        take_turns(&protocol, &queue, &answers);
        written.lines()
    }

    fn one(request: &Value) -> Value {
        let mut all = answers(&request.to_string());
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// A request of the newest version.
    fn modern(method: &str, params: &Value) -> Value {
        let mut params = params.clone();
        params["_meta"] = json!({
            version::VERSION_KEY: MODERN,
            version::CAPABILITIES_KEY: {},
        });
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    }

    fn old(method: &str, params: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    }

    #[test]
    fn every_version_with_a_handshake_is_settled_as_asked_and_no_other() {
        let settled = |asked: &str| {
            let answer = one(&old("initialize", &json!({"protocolVersion": asked})));
            answer["result"]["protocolVersion"].as_str().unwrap().to_owned()
        };
        for version in HANDSHAKES {
            assert_eq!(settled(version), version);
        }
        for version in [MODERN, "2099-01-01", "1.0", ""] {
            assert_eq!(settled(version), "2025-11-25");
        }
        let error = one(&old("initialize", &json!({})));
        assert_eq!(error["error"]["code"], -32602);
    }

    #[test]
    fn a_version_gets_the_fields_it_knows() {
        let listed = |version: &str| {
            let begin = old("initialize", &json!({"protocolVersion": version}));
            let all = answers(&format!("{begin}\n{}", old("tools/list", &json!({}))));
            let keys = all[1]["result"]["tools"][0].as_object().unwrap().keys();
            keys.cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(listed("2024-11-05"), "name inputSchema");
        assert_eq!(listed("2025-03-26"), "name inputSchema annotations");
        assert_eq!(listed("2025-06-18"), "name title inputSchema outputSchema annotations");
        let called = |version: &str| {
            let begin = old("initialize", &json!({"protocolVersion": version}));
            let call = old("tools/call", &json!({"name": "echo", "arguments": {"a": 1}}));
            answers(&format!("{begin}\n{call}"))[1]["result"].clone()
        };
        let text = json!([{"type": "text", "text": "{\"a\": 1}"}]);
        assert_eq!(called("2025-03-26"), json!({"content": text, "isError": false}));
        assert_eq!(
            called("2025-11-25"),
            json!({"content": text, "structuredContent": {"a": 1}, "isError": false})
        );
    }

    #[test]
    fn the_newest_version_needs_no_beginning() {
        let found = one(&modern("server/discover", &json!({})));
        let result = &found["result"];
        assert_eq!(result["supportedVersions"][0], MODERN);
        assert_eq!(result["supportedVersions"].as_array().unwrap().len(), 5);
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["cacheScope"], "public");
        assert_eq!(result["_meta"][version::SERVER_KEY]["name"], "anyhook");

        let listed = one(&modern("tools/list", &json!({})));
        assert!(listed["result"]["ttlMs"].is_u64(), "{listed}");
        let called = one(&modern("tools/call", &json!({"name": "echo", "arguments": {"a": 1}})));
        assert_eq!(called["result"]["structuredContent"], json!({"a": 1}));
        assert_eq!(called["result"]["resultType"], "complete");
        assert!(called["result"].get("ttlMs").is_none(), "{called}");

        // It has neither of these.
        for method in ["ping", "initialize"] {
            assert_eq!(one(&modern(method, &json!({})))["error"]["code"], -32601);
        }
        let mut other = modern("tools/list", &json!({}));
        other["params"]["_meta"][version::VERSION_KEY] = "2099-01-01".into();
        let error = one(&other);
        assert_eq!(error["error"]["code"], -32022);
        assert_eq!(error["error"]["data"]["requested"], "2099-01-01");
        assert_eq!(error["error"]["data"]["supported"][0], MODERN);
        let mut without = modern("tools/list", &json!({}));
        without["params"]["_meta"].as_object_mut().unwrap().remove(version::CAPABILITIES_KEY);
        assert_eq!(one(&without)["error"]["code"], -32602);
        assert_eq!(one(&old("server/discover", &json!({})))["error"]["code"], -32602);
    }

    #[test]
    fn what_cannot_be_called_is_an_error_and_what_fails_a_result() {
        let call = |params: &Value| one(&old("tools/call", params));
        let unknown = call(&json!({"name": "resolve_decision", "arguments": {}}));
        let error = json!({"code": -32602, "message": "Unknown tool: resolve_decision"});
        assert_eq!(unknown["error"], error);
        for params in [json!({}), json!({"name": 7}), json!({"name": "echo", "arguments": []})] {
            assert_eq!(call(&params)["error"]["code"], -32602, "{params}");
        }
        let failed = call(&json!({"name": "fail"}));
        let text = json!([{"type": "text", "text": "it failed"}]);
        assert_eq!(failed["result"], json!({"content": text, "isError": true}));
        assert_eq!(call(&json!({"name": "panic"}))["error"]["code"], -32603);
        assert_eq!(one(&old("resources/list", &json!({})))["error"]["code"], -32601);
        assert_eq!(one(&old("tools/list", &json!({"cursor": "x"})))["error"]["code"], -32602);
    }

    #[test]
    fn lines_that_are_no_messages() {
        for (line, code, id) in [
            ("nonsense", -32700, json!(null)),
            ("{\"jsonrpc\": \"2.0\", \"id\": 1", -32700, json!(null)),
            ("7", -32600, json!(null)),
            ("[]", -32600, json!(null)),
            ("{}", -32600, json!(null)),
            (r#"{"id": 3, "method": "ping"}"#, -32600, json!(3)),
            (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, -32600, json!(null)),
            (r#"{"jsonrpc": "2.0", "id": {}, "method": "ping"}"#, -32600, json!(null)),
            (r#"{"jsonrpc": "2.0", "id": "a", "method": 7}"#, -32600, json!("a")),
            (r#"{"jsonrpc": "2.0", "id": 4, "method": "ping", "params": [1]}"#, -32602, json!(4)),
        ] {
            let all = answers(line);
            assert_eq!(all.len(), 1, "{line}: {all:?}");
            assert_eq!((&all[0]["error"]["code"], &all[0]["id"]), (&json!(code), &id), "{line}");
        }
        // Neither of these is answered: notifications, and answers to what we never ask.
        for line in [
            r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
            r#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}"#,
            r#"{"jsonrpc": "2.0", "method": "notifications/cancelled"}"#,
            r#"{"jsonrpc": "2.0", "method": "tools/list"}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#,
            "  ",
        ] {
            assert_eq!(answers(line), [] as [Value; 0], "{line}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(answers(&deep)[0]["error"]["code"], -32700);
        let long = format!(
            r#"{{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {{"x": "{}"}}}}"#,
            "x".repeat(2 << 20)
        );
        let all = answers(&format!("{long}\n{}", old("ping", &json!({}))));
        assert_eq!((&all[0]["id"], &all[0]["error"]["code"]), (&json!(5), &json!(-32600)));
        assert_eq!(all[1], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    }

    #[test]
    fn a_call_that_was_cancelled_is_not_answered() {
        let wait = json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": {"name": "wait"}});
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "w"}});
        let ping = old("ping", &json!({}));
        let all = answers(&format!("{wait}\n{wait}\n{cancel}\n{ping}"));
        let again = "a request with this id is still in flight";
        assert_eq!(all.len(), 2, "{all:?}");
        assert_eq!((&all[0]["id"], &all[0]["error"]["message"]), (&json!("w"), &json!(again)));
        assert_eq!(all[1]["result"], json!({}));
    }

    #[test]
    fn the_version_that_had_batches_has_them() {
        let call =
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo"}});
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let batch = json!([old("ping", &json!({})), told, call, 7]);
        let begin = |version: &str| old("initialize", &json!({"protocolVersion": version}));
        let all = answers(&format!("{}\n{batch}\n[{told}]", begin("2025-03-26")));
        assert_eq!(all.len(), 2, "{all:?}");
        let ids: Vec<&Value> =
            all[1].as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [&json!(1), &json!(2), &json!(null)]);
        let all = answers(&format!("{}\n{batch}", begin("2025-11-25")));
        assert_eq!(all[1]["error"]["code"], -32600);
    }
}
