//! `OpenAI` Chat Completions, which most agents speak; here `OpenCode`.

use serde_json::{Value, json};

use super::http::{Event, Reply};
use super::{INPUT_TOKENS, OUTPUT_TOKENS, Turn, call_id};

pub(super) fn reply(request: &Value, turn: &Turn, number: usize, streamed: bool) -> Reply {
    let (message, reason) = match turn {
        Turn::Text(text) | Turn::Refusal(_, text) => {
            (json!({"role": "assistant", "content": text}), "stop")
        }
        Turn::Tools(_) => {
            let calls = tool_calls(turn, number);
            (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
        }
    };
    let usage = json!({
        "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    });
    let envelope = |object: &str, choices: Value, usage: &Value| {
        json!({
            "id": format!("chatcmpl-{number}"), "object": object, "created": 0,
            "model": request["model"], "choices": choices, "usage": usage,
        })
    };
    if !streamed {
        let choices = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        return Reply::Json(envelope("chat.completion", choices, &usage));
    }
    let chunk = |choices: Value, usage: &Value| {
        Event::unnamed(&envelope("chat.completion.chunk", choices, usage))
    };
    Reply::Events(vec![
        chunk(json!([{"index": 0, "delta": message, "finish_reason": null}]), &Value::Null),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), &Value::Null),
        chunk(json!([]), &usage),
        Event { name: None, data: "[DONE]".to_owned() },
    ])
}

fn tool_calls(turn: &Turn, number: usize) -> Vec<Value> {
    let calls = turn.calls().iter().enumerate();
    calls
        .map(|(position, call)| {
            let function = json!({"name": call.name, "arguments": call.input.to_string()});
            let id = call_id(number, position);
            json!({"index": position, "id": id, "type": "function", "function": function})
        })
        .collect()
}
