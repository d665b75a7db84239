//! `OpenAI` Chat Completions, which most agents speak; here `OpenCode`.

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
    let (message, reason) = match turn {
        ModelTurn::Text(text) | ModelTurn::Refusal(_, text) => {
            (json!({"role": "assistant", "content": text}), "stop")
        }
        ModelTurn::Tools(_) => {
            let calls = tool_calls(turn, number);
            (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
        }
    };
    let usage = json!({
        "prompt_tokens": tokens, "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": tokens + OUTPUT_TOKENS,
    });
    let envelope = |object: &str, choices: Value, usage: &Value| {
        json!({
            "id": format!("chatcmpl-{number}"), "object": object, "created": 0,
            "model": request["model"], "choices": choices, "usage": usage,
        })
    };
    if !streamed {
        let choices = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        return HttpReply::Json(envelope("chat.completion", choices, &usage));
    }
    let chunk = |choices: Value, usage: &Value| {
        SseEvent::unnamed(&envelope("chat.completion.chunk", choices, usage))
    };
    HttpReply::Events(vec![
        chunk(json!([{"index": 0, "delta": message, "finish_reason": null}]), &Value::Null),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), &Value::Null),
        chunk(json!([]), &usage),
        SseEvent { name: None, data: "[DONE]".to_owned() },
    ])
}

fn tool_calls(turn: &ModelTurn, number: usize) -> Vec<Value> {
    let calls = turn.calls().iter().enumerate();
    calls
        .map(|(position, call)| {
            let function = json!({"name": call.name, "arguments": call.input.to_string()});
            let id = call_id(number, position);
            json!({"index": position, "id": id, "type": "function", "function": function})
        })
        .collect()
}
