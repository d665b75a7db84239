//! The answer of a declarative hook: its texts with placeholders replaced.

use anyhook_model::hook::DeclaredAnswer;
use anyhook_model::hook::answer::INPUT_PLACEHOLDER;
use anyhook_model::json::{Object, shorten};
use anyhook_model::{Decision, Effect, Event};
use serde_json::Value;

use crate::matcher::MatchEvidence;

/// A longer value of a placeholder is cut in a text for people and models.
const VALUE_LIMIT: usize = 300;

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplatePart<'text> {
    /// Text as it is.
    Text(&'text str),
    /// The name of a placeholder.
    Placeholder(&'text str),
}

/// Splits a text at its placeholders, which are names in braces. A name in two braces is that name in
/// one; other braces are themselves.
pub fn template_parts(text: &str) -> Vec<TemplatePart<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        if !before.is_empty() {
            parts.push(TemplatePart::Text(before));
        }
        let (part, length) = part_at(from);
        parts.push(part);
        rest = &from[length..];
    }
    if !rest.is_empty() {
        parts.push(TemplatePart::Text(rest));
    }
    parts
}

/// Returns the part that begins with a brace, and its length.
fn part_at(text: &str) -> (TemplatePart<'_>, usize) {
    let is_letter =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(is_letter);
    let between = |open: &str, close: &str| {
        text.strip_prefix(open)?.split_once(close).map(|(name, _)| name).filter(is_name)
    };
    if let Some(name) = between("{{", "}}") {
        return (TemplatePart::Text(&text[1..name.len() + 3]), name.len() + 4);
    }
    match between("{", "}") {
        Some(name) => (TemplatePart::Placeholder(name), name.len() + 2),
        None => (TemplatePart::Text(&text[..1]), 1),
    }
}

/// Returns what a declarative hook decides about an event that it matched.
pub fn decide(answer: &DeclaredAnswer, event: &Event, evidence: &MatchEvidence) -> Decision {
    let shown = |text: &String| {
        let visible = |value: String| shorten(&visible(&value), VALUE_LIMIT);
        render(text, |name| value(name, event, evidence).map(visible))
    };
    let exact = |text: &str| render(text, |name| value(name, event, evidence));
    // A call that is denied has no input to change.
    let changed = answer.modified_input.as_ref().filter(|_| answer.effect != Some(Effect::Deny));
    let is_said = |text: &String| !text.trim().is_empty();
    Decision {
        effect: answer.effect,
        reason: answer.reason.as_ref().map(shown).filter(is_said),
        modified_input: changed.map(|fields| render_fields(fields, &exact)),
        additional_context: answer.additional_context.as_ref().map(shown).filter(is_said),
        log: None,
    }
}

/// Writes what a terminal would not show as it is, such as the end of a line, as an escape: a value
/// from a call must not look like a line of its own.
fn visible(value: &str) -> String {
    let is_hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::with_capacity(value.len());
    for letter in value.chars() {
        if is_hidden(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

fn render(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut rendered = String::with_capacity(text.len());
    for part in template_parts(text) {
        match part {
            TemplatePart::Text(text) => rendered.push_str(text),
            TemplatePart::Placeholder(name) => rendered.push_str(&value(name).unwrap_or_default()),
        }
    }
    rendered
}

fn render_fields(fields: &Object, text: &impl Fn(&str) -> String) -> Object {
    fields.iter().map(|(name, value)| (name.clone(), render_value(value, text))).collect()
}

fn render_value(value: &Value, text: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(template) => text(template).into(),
        Value::Array(items) => items.iter().map(|item| render_value(item, text)).collect(),
        Value::Object(fields) => Value::Object(render_fields(fields, text)),
        other => other.clone(),
    }
}

/// Returns what a placeholder stands for.
fn value(name: &str, event: &Event, evidence: &MatchEvidence) -> Option<String> {
    let tool = event.tool.as_ref();
    match name {
        "command" => evidence.command.clone().or_else(|| field(event, "command")),
        "program" => evidence.program.clone(),
        "argument" => evidence.argument.clone(),
        "path" => evidence.path.clone().or_else(|| field(event, "path")),
        "url" => evidence.url.clone().or_else(|| field(event, "url")),
        "server" => evidence.server.clone(),
        "tool" => tool.map(|tool| tool.name.clone()),
        "project" => event.project_dir.as_ref().map(|folder| folder.to_string_lossy().into_owned()),
        "work_dir" => Some(event.work_dir.to_string_lossy().into_owned()),
        _ => field(event, name.strip_prefix(INPUT_PLACEHOLDER)?),
    }
}

/// Returns a field of the tool's input as text.
fn field(event: &Event, name: &str) -> Option<String> {
    Some(match event.tool.as_ref()?.input.get(name)? {
        Value::String(text) => text.clone(),
        Value::Null => return None,
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use anyhook_model::{EventKind, ToolCall};
    use serde_json::json;

    use super::*;

    fn event() -> Event {
        let at = jiff::Timestamp::UNIX_EPOCH;
        let mut event = Event::new(EventKind::BeforeTool, "agent-hooks", Path::new("/p"), at);
        event.tool = Some(ToolCall::new("Shell", json!({"command": "rm -r x; ls", "timeout": 5})));
        event
    }

    #[test]
    fn placeholders_are_replaced_and_other_braces_are_kept() {
        let evidence =
            MatchEvidence { command: Some("rm -r x".to_owned()), ..MatchEvidence::default() };
        let text = |template: &str| {
            let answer = DeclaredAnswer {
                effect: Some(Effect::Deny),
                reason: Some(template.to_owned()),
                ..DeclaredAnswer::default()
            };
            decide(&answer, &event(), &evidence).reason.unwrap()
        };
        for (template, rendered) in [
            ("`{command}` in {work_dir}", "`rm -r x` in /p"),
            ("{input.command} {input.timeout}s", "rm -r x; ls 5s"),
            ("{{command}} {\"a\": {}} {", "{command} {\"a\": {}} {"),
            ("[{url}{program}{nothing}]", "[]"),
        ] {
            assert_eq!(text(template), rendered, "{template}");
        }
    }

    #[test]
    fn a_value_is_no_line_of_its_own_and_no_template() {
        let command = "rm 'a\x1b[31m{reason}\nblocked by x\u{202e}'".to_owned();
        let evidence = MatchEvidence { command: Some(command), ..MatchEvidence::default() };
        let answer = DeclaredAnswer {
            reason: Some("<{command}>\n".to_owned()),
            ..DeclaredAnswer::default()
        };
        let reason = decide(&answer, &event(), &evidence).reason.unwrap();
        assert_eq!(reason, "<rm 'a\\u{1b}[31m{reason}\\nblocked by x\\u{202e}'>\n");
    }

    #[test]
    fn an_input_is_rendered_at_any_depth_and_not_shortened() {
        let long = "x".repeat(10 * VALUE_LIMIT);
        let mut event = event();
        event.tool = Some(ToolCall::new("Shell", json!({"command": long})));
        let input = json!({"command": "nice {input.command}", "list": ["{tool}", 1]});
        let answer = DeclaredAnswer {
            modified_input: input.as_object().cloned(),
            ..DeclaredAnswer::default()
        };
        let decision = decide(&answer, &event, &MatchEvidence::default());
        let expected = json!({"command": format!("nice {long}"), "list": ["Shell", 1]});
        assert_eq!(decision.modified_input.as_ref(), expected.as_object());
    }
}
