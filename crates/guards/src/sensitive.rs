//! What must not be written, sent or repeated: the policy that `secrets` and `pii` share.
//!
//! Findings are named by kind and line, never by their value: a reason goes to the model and into
//! the journal.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhook_model::EventKind;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Place;
use crate::answer::{Answer, Decision};
use crate::event::{Event, relative};
use crate::options::Pattern;

/// At most this many findings are named.
const NAMED: usize = 5;

/// A part of a text that is sensitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The range of its bytes.
    pub range: Range<usize>,
    /// What it is, in words.
    pub kind: &'static str,
}

/// What happens to a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallAction {
    /// It is blocked.
    Deny,
    /// A person decides.
    Ask,
    /// What was found is replaced in the tool's input.
    Mask,
    /// Nothing.
    Off,
}

/// What happens to a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptAction {
    /// It is rejected.
    Deny,
    /// The model is told not to repeat it.
    Warn,
    /// Nothing.
    Off,
}

/// What happens when a tool's output contains it. Outputs cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputAction {
    /// The model is told not to repeat it.
    Warn,
    /// Nothing.
    Off,
}

/// What to do with what is found.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The words for what is looked for, such as `a secret` and `secrets`.
    pub words: (&'static str, &'static str),
    /// What to do instead.
    pub advice: &'static str,
    /// Writes of files.
    pub writes: CallAction,
    /// Shell commands, and calls of other tools.
    pub calls: CallAction,
    /// Prompts.
    pub prompts: PromptAction,
    /// Outputs of tools.
    pub outputs: OutputAction,
    /// What is allowed: expressions for the value found.
    pub allow: Vec<Pattern>,
    /// Where it is allowed: expressions for a file's path in the project.
    pub allow_paths: Vec<Pattern>,
}

/// Finds what is sensitive in a text.
pub type Detector<'a> = &'a dyn Fn(&str) -> Vec<Finding>;

impl Policy {
    /// Returns the answer to an event.
    pub fn decide(&self, event: &Event, detect: Detector<'_>, place: &Place) -> Answer {
        match event.kind {
            EventKind::BeforeTool | EventKind::PermissionRequest => self.call(event, detect, place),
            EventKind::BeforeAgent => self.prompt(event, detect),
            EventKind::AfterTool | EventKind::AfterToolFailure => self.output(event, detect),
            _ => Answer::none(),
        }
    }

    fn call(&self, event: &Event, detect: Detector<'_>, place: &Place) -> Answer {
        let action = if event.is_write() { self.writes } else { self.calls };
        let file = event.file().filter(|_| event.is_write());
        let file = file.map(|path| relative(&path, &place.project));
        let is_allowed = |path: &String| self.allow_paths.iter().any(|one| one.0.is_match(path));
        if action == CallAction::Off || file.as_ref().is_some_and(is_allowed) {
            return Answer::none();
        }
        let detect = |text: &str| self.found(text, detect);
        // What the file already contains is not new.
        let mut known = LazyKnown { event, text: None };
        let mut told = BTreeMap::new();
        let mut masked = Map::new();
        for (field, value) in event.input().as_object().into_iter().flatten() {
            if is_replaced_text(field) {
                continue;
            }
            let mut value = value.clone();
            let before = told.len();
            each_text(field, &mut value, &mut |field, text| {
                let found: Vec<Finding> = detect(text)
                    .into_iter()
                    .filter(|one| !known.contains(&text[one.range.clone()]))
                    .collect();
                note(&mut told, field, text, &found);
                without(text, &found)
            });
            if told.len() > before {
                masked.insert(field.clone(), value);
            }
        }
        if told.is_empty() {
            return Answer::none();
        }
        let list = list(&told);
        let subject = match &file {
            Some(path) => format!("{} would be written to `{path}`: {list}", self.words.0),
            None => format!("{} is in the call of {}: {list}", self.words.0, event.tool()),
        };
        let advice = self.advice;
        match action {
            CallAction::Deny => Answer::deny(format!("{subject}; {advice}")),
            CallAction::Ask => Answer::ask(subject),
            CallAction::Mask | CallAction::Off => Answer {
                modified_input: masked,
                context: Some(format!(
                    "{subject}. It was replaced by `[redacted KIND]` before the call ran"
                )),
                ..Answer::none()
            },
        }
    }

    fn prompt(&self, event: &Event, detect: Detector<'_>) -> Answer {
        if self.prompts == PromptAction::Off {
            return Answer::none();
        }
        let mut told = BTreeMap::new();
        let text = event.text("prompt");
        note(&mut told, "the prompt", text, &self.found(text, detect));
        if told.is_empty() {
            return Answer::none();
        }
        let (one, many) = self.words;
        let list = list(&told);
        if self.prompts == PromptAction::Deny {
            return Answer::deny(format!(
                "{one} is in the prompt: {list}; what is sent to a model cannot be taken back. Remove it and send the prompt again"
            ));
        }
        Answer::context(format!(
            "The prompt contains {many}: {list}. Do not repeat them, write them to files or send them anywhere."
        ))
    }

    fn output(&self, event: &Event, detect: Detector<'_>) -> Answer {
        if self.outputs == OutputAction::Off {
            return Answer::none();
        }
        let mut told = BTreeMap::new();
        for (field, name) in [("tool_output", "the output"), ("error", "the error")] {
            let mut value = event.get(field).clone();
            each_text(name, &mut value, &mut |name, text| {
                note(&mut told, name, text, &self.found(text, detect));
                None
            });
        }
        if told.is_empty() {
            return Answer::none();
        }
        let (_, many) = self.words;
        Answer::context(format!(
            "This output contains {many}: {}. Do not repeat them, write them to files, put them into commands or send them anywhere; refer to where they are kept instead.",
            list(&told)
        ))
    }

    /// Returns what was found and is not allowed.
    fn found(&self, text: &str, detect: Detector<'_>) -> Vec<Finding> {
        let mut found = detect(text);
        found.retain(|one| {
            let value = &text[one.range.clone()];
            !self.allow.iter().any(|pattern| pattern.0.is_match(value))
        });
        found
    }
}

/// What the written file contains and what an edit replaces, read when first needed.
struct LazyKnown<'a> {
    event: &'a Event,
    text: Option<String>,
}

impl LazyKnown<'_> {
    fn contains(&mut self, value: &str) -> bool {
        if !self.event.is_write() {
            return false;
        }
        let event = self.event;
        let text = self.text.get_or_insert_with(|| {
            let mut text = event.file_content();
            for (field, value) in event.input().as_object().into_iter().flatten() {
                if is_replaced_text(field) {
                    text += value.as_str().unwrap_or_default();
                }
            }
            text
        });
        text.contains(value)
    }
}

/// Returns whether a field of an edit has the text that is replaced.
fn is_replaced_text(field: &str) -> bool {
    matches!(field, "old" | "old_string" | "oldString" | "old_str")
}

/// Calls a function with every text of a value; what it returns replaces the text.
fn each_text(field: &str, value: &mut Value, change: &mut dyn FnMut(&str, &str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(changed) = change(field, text) {
                *text = changed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(field, item, change)),
        Value::Object(members) => {
            for (key, member) in members.iter_mut().filter(|(key, _)| !is_replaced_text(key)) {
                each_text(&format!("{field}.{key}"), member, change);
            }
        }
        _ => {}
    }
}

/// Remembers the lines of findings, by kind and field.
fn note(
    told: &mut BTreeMap<(String, &'static str), Vec<usize>>,
    field: &str,
    text: &str,
    found: &[Finding],
) {
    let (mut line, mut at) = (1, 0);
    for one in found {
        line += text[at..one.range.start].bytes().filter(|byte| *byte == b'\n').count();
        at = one.range.start;
        told.entry((field.to_owned(), one.kind)).or_default().push(line);
    }
}

fn list(told: &BTreeMap<(String, &'static str), Vec<usize>>) -> String {
    let shown = told.iter().take(NAMED).map(|((field, kind), lines)| {
        let mut lines = lines.clone();
        lines.dedup();
        let word = if lines.len() == 1 { "line" } else { "lines" };
        let numbers: Vec<String> = lines.iter().take(NAMED).map(ToString::to_string).collect();
        let more = if lines.len() > NAMED { ", …" } else { "" };
        format!("{kind} in {field}, {word} {}{more}", numbers.join(", "))
    });
    let mut shown: Vec<String> = shown.collect();
    if told.len() > NAMED {
        shown.push(format!("and {} more", told.len() - NAMED));
    }
    shown.join("; ")
}

/// Returns the text with findings replaced; `None` without findings.
fn without(text: &str, found: &[Finding]) -> Option<String> {
    if found.is_empty() {
        return None;
    }
    let (mut out, mut done) = (String::new(), 0);
    for one in found {
        out += &text[done..one.range.start];
        out += &format!("[redacted {}]", one.kind);
        done = one.range.end;
    }
    Some(out + &text[done..])
}

/// Returns the reason of an answer, whether it asks or denies.
pub fn reason(answer: &Answer) -> &str {
    match &answer.decision {
        Some(Decision::Ask(reason) | Decision::Deny(reason)) => reason,
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::{Guard, decide};

    /// Texts made of what is looked for, and of what surrounds it.
    fn fragments() -> impl Strategy<Value = String> {
        const PARTS: [&str; 19] = [
            "postgres://app:k3J9x0Qz71@db.internal/app",
            "API_KEY=9fK2mQx7Lw3Zr8Tn5Vb1",
            "password: \"u7!Kq2#Zp9@Wm4^Xe6\"",
            "jane.doe@gmail.com",
            "4539 5787 6362 1486",
            "DE75 5121 0800 1245 1261 99",
            "+49 170 3928471",
            "536-90-4399",
            "203.12.34.56",
            "[redacted ",
            "\n",
            " ",
            "\"",
            "=",
            "-",
            ".",
            "@",
            "é",
            "7",
        ];
        let part = prop_oneof![4 => prop::sample::select(&PARTS[..]).prop_map(str::to_owned), 1 => ".{0,6}"];
        prop::collection::vec(part, 0..10).prop_map(|parts| parts.join(" "))
    }

    fn call(guard: Guard, text: &str, options: &Value) -> Answer {
        let event = json!({"event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": text}});
        decide(guard, &Event::new(event), options, &Place::of_tests("/p")).unwrap()
    }

    proptest! {
        // Each call compiles its expressions.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_masked_has_no_finding(text in fragments()) {
            for (guard, options) in [
                (Guard::Secrets, json!({"calls": "mask"})),
                (Guard::Pii, json!({"action": "mask", "kinds": ["email", "phone", "card", "iban", "ssn", "ip"]})),
            ] {
                let masked = call(guard, &text, &options).modified_input;
                if let Some(masked) = masked.get("command").and_then(Value::as_str) {
                    let again = call(guard, masked, &options);
                    prop_assert!(again.modified_input.is_empty(), "{text:?}\n{masked:?}\n{again:?}");
                }
            }
        }

        #[test]
        fn a_reason_never_has_the_value(text in fragments()) {
            for guard in [Guard::Secrets, Guard::Pii] {
                let answer = call(guard, &text, &Value::Null);
                for value in ["k3J9x0Qz71", "9fK2mQx7Lw3Zr8Tn5Vb1", "jane.doe", "5787", "536-90"] {
                    prop_assert!(!reason(&answer).contains(value));
                }
            }
        }
    }
}
