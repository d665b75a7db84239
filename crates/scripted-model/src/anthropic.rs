//! Anthropic Messages, as Claude Code speaks it.

use serde_json::{Value, json};

use super::http::{HttpReply, SseEvent};
use super::{Answer, ModelTurn, OUTPUT_TOKENS, call_id};

pub(super) fn reply(
    request: &Value,
    turn: &ModelTurn,
    answer: Answer,
    streamed: bool,
) -> HttpReply {
    let Answer { number, tokens } = answer;
    let (content, reason) = match turn {
        ModelTurn::Text(text) | ModelTurn::Refusal(_, text) => {
            (vec![json!({"type": "text", "text": text})], "end_turn")
        }
        ModelTurn::Tools(_) => (tool_uses(turn, number), "tool_use"),
    };
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": request["model"], "content": content,
        "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": tokens, "output_tokens": OUTPUT_TOKENS},
    });
    if streamed { HttpReply::Events(events(message)) } else { HttpReply::Json(message) }
}

fn tool_uses(turn: &ModelTurn, number: usize) -> Vec<Value> {
    let calls = turn.calls().iter().enumerate();
    calls
        .map(|(position, call)| {
            let id = format!("toolu_{}", call_id(number, position));
            json!({"type": "tool_use", "id": id, "name": call.name, "input": call.input})
        })
        .collect()
}

fn events(mut message: Value) -> Vec<SseEvent> {
    let content = std::mem::replace(&mut message["content"], json!([]));
    let reason = message["stop_reason"].take();
    let usage = message["usage"].clone();
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in content.as_array().into_iter().flatten().enumerate() {
        let (empty, delta) = split(block);
        events.extend([
            json!({"type": "content_block_start", "index": index, "content_block": empty}),
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
            json!({"type": "content_block_stop", "index": index}),
        ]);
    }
    events.extend([
        json!({
            "type": "message_delta", "usage": usage,
            "delta": {"stop_reason": reason, "stop_sequence": null},
        }),
        json!({"type": "message_stop"}),
    ]);
    events.iter().map(SseEvent::named).collect()
}

/// Splits a block into its empty form and everything that follows.
fn split(block: &Value) -> (Value, Value) {
    let mut empty = block.clone();
    if block["type"] == "text" {
        let text = std::mem::replace(&mut empty["text"], json!(""));
        (empty, json!({"type": "text_delta", "text": text}))
    } else {
        let input = std::mem::replace(&mut empty["input"], json!({}));
        (empty, json!({"type": "input_json_delta", "partial_json": input.to_string()}))
    }
}
