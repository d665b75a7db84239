//! Questions that agents ask the user with a tool call. All agents use nearly the same format: a
//! list of questions, each with its options.

use anyhook_model::ToolCall;
use anyhook_model::approval_request::{AgentQuestion, Choice};
use serde_json::Value;

/// What differs between agents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuestionForm {
    /// The key that says whether several options may be chosen.
    pub multiple: &'static str,
    /// The key that says whether free text is accepted; it is if the key is missing, or if the
    /// agent has no such key.
    pub free_text: Option<&'static str>,
}

/// Returns the questions of a call of `tool`; empty if one of them cannot be parsed, or if it is a
/// call of another tool.
pub(crate) fn of_tool(call: &ToolCall, tool: &str, form: QuestionForm) -> Vec<AgentQuestion> {
    if call.name != tool {
        return Vec::new();
    }
    let asked = call.input.get("questions").and_then(Value::as_array);
    let asked = asked.into_iter().flatten().map(|value| question(value, form));
    asked.collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn question(value: &Value, form: QuestionForm) -> Option<AgentQuestion> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let flag = |key: &str| value.get(key).and_then(Value::as_bool);
    let option = |option: &Value| {
        let does = text(option, "description").unwrap_or_default();
        Some(Choice { name: text(option, "label")?, does })
    };
    let options = value.get("options").and_then(Value::as_array);
    Some(AgentQuestion {
        text: text(value, "question")?,
        header: text(value, "header"),
        options: options.into_iter().flatten().map(option).collect::<Option<_>>()?,
        multiple: flag(form.multiple).unwrap_or_default(),
        free_text: form.free_text.and_then(flag).unwrap_or(true),
    })
}
