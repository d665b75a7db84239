//! Messages of JSON-RPC 2.0 as a server receives them.

use anyhook_model::json::Object;
use anyhook_model::serve::RequestId;
use serde_json::Value;

use super::answer::{ErrorCode, RpcError};

/// A message.
#[derive(Debug)]
pub enum Message {
    /// To be answered.
    Request(Request),
    /// The answer to a request is not wanted any more.
    Cancelled(RequestId),
    /// A notification that changes nothing, or an answer, though we never ask.
    Nothing,
}

/// A request.
#[derive(Debug)]
pub struct Request {
    pub id: RequestId,
    pub method: String,
    pub params: Option<Object>,
}

/// Reads a message. An error is to be answered, with the id if there is one.
pub fn read(message: Value) -> Result<Message, (Option<RequestId>, RpcError)> {
    let invalid = |what: &str| RpcError::new(ErrorCode::INVALID_REQUEST, what);
    let Value::Object(mut message) = message else {
        return Err((None, invalid("a message is an object")));
    };
    let is_answer = message.contains_key("result") || message.contains_key("error");
    let id = message.remove("id");
    let is_notification = id.is_none();
    let id = id.and_then(|id| RequestId::try_from(id).ok());
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err((id, invalid("`jsonrpc` must be \"2.0\"")));
    }
    let method = match message.remove("method") {
        Some(Value::String(method)) => method,
        None if is_answer => return Ok(Message::Nothing),
        _ => return Err((id, invalid("`method` must be a string"))),
    };
    let params = message.remove("params");
    if is_notification {
        return Ok(notification(&method, params.as_ref()));
    }
    let Some(id) = id else { return Err((None, invalid("`id` must be a number or a string"))) };
    let params = match params {
        Some(Value::Object(params)) => Some(params),
        None | Some(Value::Null) => None,
        Some(_) => return Err((Some(id), RpcError::invalid_params("`params` must be an object"))),
    };
    Ok(Message::Request(Request { id, method, params }))
}

fn notification(method: &str, params: Option<&Value>) -> Message {
    if method != "notifications/cancelled" {
        return Message::Nothing;
    }
    let id = params.and_then(|params| params.get("requestId")).cloned();
    match id.map(RequestId::try_from) {
        Some(Ok(id)) => Message::Cancelled(id),
        _ => Message::Nothing,
    }
}
