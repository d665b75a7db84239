//! What is sent back: results, errors, and results of tools.

use anyhook_model::json::{Object, to_spaced};
use anyhook_model::serve::RequestId;
use serde_json::{Value, json};

use super::ToolResult;
use super::version::Era;

/// The codes of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(i32);

impl ErrorCode {
    pub const PARSE_ERROR: Self = Self(-32700);
    pub const INVALID_REQUEST: Self = Self(-32600);
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    pub const INVALID_PARAMS: Self = Self(-32602);
    pub const INTERNAL: Self = Self(-32603);
    pub const UNSUPPORTED_VERSION: Self = Self(-32022);
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    pub code: ErrorCode,
    pub message: String,
    pub data: Option<Box<Value>>,
}

impl RpcError {
    pub fn new(code: ErrorCode, message: &str) -> Self {
        Self { code, message: message.to_owned(), data: None }
    }

    pub fn invalid_params(message: &str) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    pub fn method_not_found(method: &str) -> Self {
        Self::new(ErrorCode::METHOD_NOT_FOUND, &format!("Method not found: {method}"))
    }
}

/// Returns who answers.
pub fn server_info() -> Value {
    json!({"name": "anyhook", "title": "anyhook", "version": env!("CARGO_PKG_VERSION")})
}

/// Returns the answer to a request.
pub fn reply(id: &RequestId, result: Value) -> Value {
    let mut answer = Object::new();
    answer.insert("jsonrpc".to_owned(), "2.0".into());
    answer.insert("id".to_owned(), id.clone().into());
    // Moved: a result may be large.
    answer.insert("result".to_owned(), result);
    Value::Object(answer)
}

/// Returns the answer to what could not be done; without an id if that of the request is unknown.
pub fn error_reply(id: Option<&RequestId>, error: &RpcError) -> Value {
    let mut told = json!({"code": error.code.0, "message": error.message});
    if let Some(data) = &error.data {
        told["data"] = Value::clone(data);
    }
    json!({"jsonrpc": "2.0", "id": id, "error": told})
}

/// Returns the result of a call. Clients that do not know structured results get the same as text.
pub fn of_tool(result: ToolResult, era: Era) -> Value {
    let (text, structured, is_error) = match result {
        Ok(value) => (to_spaced(&value), era.has_structured_results().then_some(value), false),
        Err(message) => (message, None, true),
    };
    let mut answer = Object::new();
    answer.insert("content".to_owned(), json!([{"type": "text", "text": text}]));
    if let Some(structured) = structured {
        answer.insert("structuredContent".to_owned(), structured);
    }
    answer.insert("isError".to_owned(), is_error.into());
    era.complete(answer)
}
