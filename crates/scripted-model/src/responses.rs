//! `OpenAI` Responses, as Codex speaks it.

use serde_json::{Value, json};

use super::http::{HttpReply, SseEvent};
use super::{Answer, ModelCall, ModelTurn, OUTPUT_TOKENS, call_id};

pub(super) fn reply(turn: &ModelTurn, answer: Answer, streamed: bool) -> HttpReply {
    let Answer { number, tokens } = answer;
    let items = match turn {
        ModelTurn::Text(text) | ModelTurn::Refusal(_, text) => vec![json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        })],
        ModelTurn::Tools(calls) => {
            calls.iter().enumerate().map(|(position, call)| item(call, number, position)).collect()
        }
    };
    let response = json!({
        "id": format!("resp_{number}"), "object": "response", "status": "completed",
        "output": items,
        "usage": {
            "input_tokens": tokens, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + OUTPUT_TOKENS,
        },
    });
    if streamed { HttpReply::Events(events(&response, &items)) } else { HttpReply::Json(response) }
}

fn item(call: &ModelCall, number: usize, position: usize) -> Value {
    let call_id = call_id(number, position);
    let (kind, field, input) = match &call.input {
        // A tool that takes free text.
        Value::String(text) => ("custom_tool_call", "input", text.clone()),
        input => ("function_call", "arguments", input.to_string()),
    };
    // A tool may be in a namespace: `multi_agent_v1.spawn_agent`.
    let (namespace, name) = match call.name.split_once('.') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, call.name.as_str()),
    };
    let mut item = json!({
        "type": kind, "id": format!("item_{call_id}"), "call_id": call_id, "name": name,
        "status": "completed", field: input,
    });
    if let Some(namespace) = namespace {
        item["namespace"] = namespace.into();
    }
    item
}

fn events(response: &Value, items: &[Value]) -> Vec<SseEvent> {
    let started = json!({"id": response["id"], "object": "response", "status": "in_progress"});
    let mut events = vec![json!({"type": "response.created", "response": started})];
    for (index, item) in items.iter().enumerate() {
        events.push(
            json!({"type": "response.output_item.added", "output_index": index, "item": item}),
        );
        if let Some(text) = item["content"][0]["text"].as_str() {
            events.push(json!({
                "type": "response.output_text.delta", "item_id": item["id"],
                "output_index": index, "content_index": 0, "delta": text,
            }));
        }
        events.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    events.push(json!({"type": "response.completed", "response": response}));
    events.iter().map(SseEvent::named).collect()
}
