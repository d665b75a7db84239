//! Gemini's `generateContent`, as Gemini CLI speaks it.

use serde_json::{Value, json};

use super::http::{HttpReply, SseEvent};
use super::{Answer, MODEL, ModelTurn, OUTPUT_TOKENS, call_id};

pub(super) fn reply(turn: &ModelTurn, answer: Answer, streamed: bool) -> HttpReply {
    let Answer { number, tokens } = answer;
    let content = json!({"role": "model", "parts": parts(turn, number)});
    let answer = json!({
        "candidates": [{"index": 0, "finishReason": "STOP", "content": content}],
        "usageMetadata": {
            "promptTokenCount": tokens, "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": tokens + OUTPUT_TOKENS,
        },
        "modelVersion": MODEL, "responseId": format!("response-{number}"),
    });
    if streamed {
        HttpReply::Events(vec![SseEvent::unnamed(&answer)])
    } else {
        HttpReply::Json(answer)
    }
}

fn parts(turn: &ModelTurn, number: usize) -> Vec<Value> {
    if let ModelTurn::Text(text) | ModelTurn::Refusal(_, text) = turn {
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
