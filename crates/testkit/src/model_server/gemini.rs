//! Gemini's `generateContent`, as Gemini CLI speaks it.

use serde_json::{Value, json};

use super::http::{Event, Reply};
use super::{INPUT_TOKENS, MODEL, OUTPUT_TOKENS, Turn, call_id};

pub(super) fn reply(turn: &Turn, number: usize, streamed: bool) -> Reply {
    let content = json!({"role": "model", "parts": parts(turn, number)});
    let answer = json!({
        "candidates": [{"index": 0, "finishReason": "STOP", "content": content}],
        "usageMetadata": {
            "promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        },
        "modelVersion": MODEL, "responseId": format!("response-{number}"),
    });
    if streamed { Reply::Events(vec![Event::unnamed(&answer)]) } else { Reply::Json(answer) }
}

fn parts(turn: &Turn, number: usize) -> Vec<Value> {
    if let Turn::Text(text) | Turn::Refusal(_, text) = turn {
        return vec![json!({"text": text})];
    }
    let calls = turn.calls().iter().enumerate();
    calls
        .map(|(position, call)| {
            let id = call_id(number, position);
            json!({"functionCall": {"id": id, "name": call.name, "args": call.input}})
        })
        .collect()
}
