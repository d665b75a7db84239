//! Builds the body of a request: a conversation in the format of chat completions.

use serde_json::{Map, Value, json};

use crate::agent::{Message, ModelRequest, RequestedCall, ToolDescription};

/// Builds the body. The program's own parameters come last: they win, and null removes a field.
pub(super) fn body(model: &str, request: &ModelRequest, parameters: &Map<String, Value>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages(request).into());
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
    }
    if let Some(schema) = &request.answer_schema {
        // Not `strict`: that only accepts schemas in which every property is required.
        let format =
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}});
        body.insert("response_format".to_owned(), format);
    }
    body.insert("stream".to_owned(), true.into());
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    for (name, value) in parameters {
        if value.is_null() {
            anyhook_model::json::remove(&mut body, name);
        } else {
            body.insert(name.clone(), value.clone());
        }
    }
    Value::Object(body)
}

fn messages(request: &ModelRequest) -> Vec<Value> {
    let instructions = (!request.instructions.is_empty())
        .then(|| json!({"role": "system", "content": request.instructions}));
    instructions.into_iter().chain(request.messages.iter().map(message)).collect()
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let content = if text.is_empty() { Value::Null } else { text.as_str().into() };
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        Message::Tool { call_id, text, .. } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
        }
    }
}

fn call(call: &RequestedCall) -> Value {
    // Servers parse the arguments of earlier calls as JSON, and an empty text is not JSON.
    let arguments = if call.arguments.is_empty() { "{}" } else { &call.arguments };
    let function = json!({"name": call.name, "arguments": arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

fn tool(tool: &ToolDescription) -> Value {
    let function = json!({
        "name": tool.name, "description": tool.description, "parameters": tool.schema,
    });
    json!({"type": "function", "function": function})
}
