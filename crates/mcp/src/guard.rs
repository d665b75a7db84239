//! Detects dangerous commands in the input of a tool.
//!
//! Three are looked for in every text of the input: a download piped into a shell, `rm` with both
//! its recursive and its force flag, and `sudo`. Each counts only where a shell would take it for a
//! command; a text that only mentions them is fine. Arguments that are given as a list are also
//! read as one command line.
//!
//! It is a safety net for accidents and obvious cases, not a shell: what is hidden behind variables
//! or an encoding is not found. It takes one pass over the text, whatever it contains.

mod command_names;
mod scan;

use std::fmt;

use anyhook_model::truncate::first_chars;
use serde_json::Value;

/// The kind of danger in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Danger {
    /// What `curl` or `wget` fetches is executed unseen.
    PipedIntoShell,
    /// `rm` with its recursive and its force flag.
    RemovesAll,
    /// `sudo` with a command.
    Sudo,
}

impl fmt::Display for Danger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::PipedIntoShell => "a download piped into a shell",
            Self::RemovesAll => "a forced recursive `rm`",
            Self::Sudo => "`sudo`",
        })
    }
}

/// A danger that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// What it is.
    pub danger: Danger,
    /// Where in the input, as a JSON pointer; empty for the input itself.
    pub pointer: String,
    /// The beginning of the text from the position where it was found.
    pub excerpt: String,
}

impl fmt::Display for Alarm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { danger, pointer, excerpt } = self;
        let place = if pointer.is_empty() { "the input" } else { pointer };
        write!(formatter, "{danger} in {place}: {excerpt}")
    }
}

/// Maximum length of an excerpt.
const EXCERPT: usize = 80;
/// Maximum nesting depth that is checked; no JSON parser produces a deeper input.
const DEEPEST: usize = 512;

/// Returns the dangers in all texts of an input, each at most once per text.
pub fn look(input: &Value) -> Vec<Alarm> {
    let mut alarms = Vec::new();
    look_at(input, &mut String::new(), 0, &mut alarms);
    alarms
}

/// Returns the dangers in a text, each at most once, in order of appearance.
pub fn look_in_text(text: &str) -> Vec<Danger> {
    scan::scan(text).into_iter().map(|(danger, _)| danger).collect()
}

fn look_at(value: &Value, pointer: &mut String, depth: usize, alarms: &mut Vec<Alarm>) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::String(text) => look_at_text(text, pointer, alarms),
        Value::Array(elements) => {
            look_at_arguments(None, elements, pointer, alarms);
            for (index, element) in elements.iter().enumerate() {
                let length = pointer.len();
                pointer.push_str(&format!("/{index}"));
                look_at(element, pointer, depth + 1, alarms);
                pointer.truncate(length);
            }
        }
        Value::Object(members) => {
            if let (Some(Value::String(program)), Some(Value::Array(arguments))) =
                (members.get("command"), members.get("args").or_else(|| members.get("arguments")))
            {
                look_at_arguments(Some(program), arguments, pointer, alarms);
            }
            for (name, member) in members {
                let length = pointer.len();
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                look_at_text(name, pointer, alarms);
                look_at(member, pointer, depth + 1, alarms);
                pointer.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Checks arguments as one command line.
fn look_at_arguments(
    program: Option<&str>,
    arguments: &[Value],
    pointer: &str,
    alarms: &mut Vec<Alarm>,
) {
    let words: Option<Vec<&str>> = arguments.iter().map(Value::as_str).collect();
    let Some(words) = words else { return };
    let line: Vec<&str> = program.into_iter().chain(words).collect();
    if line.len() > 1 {
        look_at_text(&line.join(" "), pointer, alarms);
    }
}

fn look_at_text(text: &str, pointer: &str, alarms: &mut Vec<Alarm>) {
    for (danger, start) in scan::scan(text) {
        let excerpt = excerpt(&text[start..]);
        alarms.push(Alarm { danger, pointer: pointer.to_owned(), excerpt });
    }
}

/// Returns the beginning of a text, on one line and without characters that could manipulate a
/// terminal.
fn excerpt(text: &str) -> String {
    let kept = first_chars(text, EXCERPT);
    let rest = if kept.len() < text.len() { "…" } else { "" };
    format!("{}{rest}", kept.replace(char::is_control, " ").trim_end())
}

#[cfg(test)]
mod tests;
