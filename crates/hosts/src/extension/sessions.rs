//! Reads the lines of a session's file: what they say about the agent's state, and the tokens and
//! turns that they report. pi and oh-my-pi write the same format.
//!
//! Observed with pi 1.5.0 and oh-my-pi 18.2.3: a message of the model that ends the turn is written
//! before the stop gate, which may make the agent continue. A permission prompt leaves no line.

use anyhook_model::daemon::Usage;
use anyhook_model::json::Object;
use jiff::Timestamp;
use serde_json::Value;

use crate::log::{LogObservation, LogState, about, failure_kind, text, time};
use crate::usage::{UsageTally, number};

/// Reads the next line.
pub(crate) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let object = state.object(line)?;
    if text(&object, "type") == Some("session") {
        state.name_session(text(&object, "id"));
        state.name_work_dir(text(&object, "cwd"));
        return None;
    }
    let at = time(&object, "timestamp");
    let message = message(&object)?;
    calls(state, message, at);
    match text(message, "role")? {
        "user" | "toolResult" => Some(LogObservation::certain(at, state.at_work())),
        "assistant" => Some(match text(message, "stopReason") {
            Some("stop" | "length") => LogObservation::likely(at, state.rest()),
            Some("aborted") => LogObservation::certain(at, state.break_off()),
            Some("error") => {
                let words = text(message, "errorMessage").unwrap_or_default();
                let status = number(message, "errorStatus").or_else(|| status(words));
                let failure = state.fail(failure_kind(status, words), words);
                LogObservation::certain(at, failure)
            }
            _ => LogObservation::certain(at, state.at_work()),
        }),
        _ => None,
    }
}

/// Records the calls of a message of the model, or the result of one.
fn calls(state: &mut LogState, message: &Object, at: Option<Timestamp>) {
    let content = message.get("content").and_then(Value::as_array).into_iter().flatten();
    match text(message, "role") {
        Some("assistant") => {
            for call in content.filter_map(Value::as_object) {
                let names = (text(call, "type"), text(call, "id"), text(call, "name"));
                if let (Some("toolCall"), Some(id), Some(tool)) = names {
                    state.begin_call(id, tool, call.get("arguments").and_then(about));
                }
            }
        }
        Some("toolResult") => {
            let Some(id) = text(message, "toolCallId") else { return };
            // What failed may have been refused before any hook was asked; a command has an exit code.
            let ended = |part: &Value| {
                part.get("text")?.as_str().map(|text| text.contains("Command exited with code"))
            };
            let has_failed = message.get("isError") == Some(&Value::Bool(true));
            if has_failed && !content.filter_map(ended).any(|ended| ended) {
                state.drop_call(id);
            } else {
                state.end_call(id, at);
            }
        }
        _ => {}
    }
}

/// Counts the tokens of a message of the model, or a prompt.
pub(crate) fn count(tally: &mut UsageTally, object: &Object) {
    let Some(message) = message(object) else { return };
    let id = text(object, "id").unwrap_or_default();
    match text(message, "role") {
        Some("user") => tally.prompt(id),
        Some("assistant") => {
            let Some(usage) = message.get("usage").and_then(|usage| usage.as_object()) else {
                return;
            };
            tally.message(
                id,
                Usage {
                    turns: None,
                    input_tokens: number(usage, "input"),
                    output_tokens: number(usage, "output"),
                    cache_read_tokens: number(usage, "cacheRead"),
                    cache_write_tokens: number(usage, "cacheWrite"),
                },
            );
        }
        _ => {}
    }
}

fn message(line: &Object) -> Option<&Object> {
    let is_message = text(line, "type") == Some("message");
    line.get("message")?.as_object().filter(|_| is_message)
}

/// Returns the status at the start of an error message: `429 rate limited`.
fn status(words: &str) -> Option<u64> {
    let first = words.split(|letter: char| !letter.is_ascii_digit()).next()?;
    first.parse().ok().filter(|_| first.len() == 3)
}

#[cfg(test)]
mod tests {
    use anyhook_model::{FailureKind, daemon::Usage};
    use serde_json::{Value, json};

    use super::*;
    use crate::log::Activity;

    fn line(message: &Value) -> String {
        json!({"type": "message", "id": message["role"], "message": message}).to_string()
    }

    #[test]
    fn the_end_of_a_turn_says_how_it_ended() {
        let doing = |message: Value| {
            read_line(&mut LogState::default(), &line(&message)).map(|says| says.doing)
        };
        let answer = |reason: &str| json!({"role": "assistant", "stopReason": reason});
        assert_eq!(doing(answer("toolUse")), Some(Activity::Working));
        assert_eq!(doing(answer("stop")), Some(Activity::Idle));
        assert_eq!(doing(answer("aborted")), Some(Activity::BrokenOff));
        let mut failed = answer("error");
        failed["errorMessage"] = "429: slow down".into();
        let limited = Activity::Failed(FailureKind::RateLimited, "429: slow down".to_owned());
        assert_eq!(doing(failed.clone()), Some(limited));
        failed["errorStatus"] = 401.into();
        let Some(Activity::Failed(kind, _)) = doing(failed) else { panic!() };
        assert_eq!(kind, FailureKind::Unauthorized);
        assert_eq!(doing(json!({"role": "system"})), None);
    }

    #[test]
    fn a_message_reports_its_tokens() {
        let usage = json!({"input": 5, "output": 7, "cacheRead": 11, "cacheWrite": 13});
        let mut tally = UsageTally::of_host("pi").unwrap();
        tally.feed(&line(&json!({"role": "user"})));
        tally.feed(&line(&json!({"role": "assistant", "usage": usage})));
        let expected = Usage {
            turns: Some(1),
            input_tokens: Some(5),
            output_tokens: Some(7),
            cache_read_tokens: Some(11),
            cache_write_tokens: Some(13),
        };
        assert_eq!(tally.usage(), Some(expected));
    }
}
