//! The texts of a proposed hook: its name, its HOOK.md and its test cases.

use std::collections::HashSet;

use anyhook_engine::definition;
use anyhook_engine::{Hook, Level, Severity};
use anyhook_model::hook::MatcherDefinition;
use anyhook_model::report::learn::{LeftOutGroup, ProposedTest};
use anyhook_model::{Effect, tools};
use serde_json::{Value, json};

use super::history::{CallOutcome, PastCall};
use super::propose::Candidate;
use super::subject::{Subject, is_shell};
use super::yaml;

/// At most this many test cases of each kind.
const CASES: usize = 5;
/// At most this many records are named in a HOOK.md.
const EVIDENCE: usize = 20;
/// A longer input is not worth a test case.
const INPUT_LIMIT: usize = 2000;
/// A name is cut to this length.
const NAME_LIMIT: usize = 48;

/// A proposed hook, ready to be tried.
#[derive(Clone, Debug)]
pub struct WrittenHook {
    /// What it was made from.
    pub candidate: Candidate,
    /// Its description.
    pub description: String,
    /// The text of its HOOK.md.
    pub text: String,
    /// The hook that the text means.
    pub hook: Hook,
    /// Its test cases.
    pub tests: Vec<ProposedTest>,
}

/// Writes hooks for candidates, with names that are not taken. One whose text would be read as
/// something else is left out.
pub fn write_all(
    candidates: Vec<Candidate>,
    calls: &[PastCall],
    mut taken: HashSet<String>,
    left_out: &mut Vec<LeftOutGroup>,
) -> Vec<WrittenHook> {
    let mut written = Vec::new();
    for candidate in candidates {
        let name = free_name(&candidate, &taken);
        match write(&candidate, &name, calls) {
            Some(hook) => {
                taken.insert(name);
                written.push(hook);
            }
            None => left_out.push(LeftOutGroup {
                subject: about(&candidate),
                why: "its condition cannot be written".to_owned(),
                calls: candidate.group,
            }),
        }
    }
    written
}

fn write(candidate: &Candidate, name: &str, calls: &[PastCall]) -> Option<WrittenHook> {
    let description = description(candidate, calls);
    let text = text(candidate, name, &description, calls);
    let read = definition::read(text.as_bytes(), name);
    let is_sound = read.problems.iter().all(|problem| problem.severity <= Severity::Note)
        && read.definition.matcher == candidate.matcher
        && read.definition.answer.as_ref()?.effect == Some(candidate.effect);
    if !is_sound {
        return None;
    }
    let mut hook = Hook::unread(name.as_ref(), Level::User);
    hook.definition = read.definition;
    hook.matcher = read.matcher;
    let tests = tests(candidate, calls);
    let candidate = candidate.clone();
    Some(WrittenHook { candidate, description, text, hook, tests })
}

/// Returns what a proposal is about, in a few words.
pub fn about(candidate: &Candidate) -> String {
    match patterns(&candidate.matcher) {
        Some((access, pattern)) => format!("{access} {pattern}"),
        None => candidate.subject.to_string(),
    }
}

/// Returns the first pattern of a condition on files.
fn patterns(matcher: &MatcherDefinition) -> Option<(&'static str, &str)> {
    let files = matcher.files.as_ref()?;
    let lists = [
        ("read", &files.read),
        ("write", &files.write),
        ("delete", &files.delete),
        ("move", &files.r#move),
    ];
    lists.into_iter().find_map(|(access, list)| Some((access, list.first()?.as_str())))
}

fn free_name(candidate: &Candidate, taken: &HashSet<String>) -> String {
    let mut name = format!("{}-", candidate.effect.word());
    for letter in about(candidate).chars() {
        match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_lowercase() || letter.is_ascii_digit() => name.push(letter),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(NAME_LIMIT);
    let name = name.trim_end_matches('-').to_owned();
    let others = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(others);
    names.find(|name| !taken.contains(name)).unwrap_or(name)
}

fn description(candidate: &Candidate, calls: &[PastCall]) -> String {
    let about = about(candidate);
    let ended = |meant: CallOutcome| {
        candidate.examples.iter().filter(|index| calls[**index].outcome == meant).count()
    };
    let (denied, blocked) = (ended(CallOutcome::Denied), ended(CallOutcome::Blocked));
    let said = match (denied, blocked) {
        (denied, 0) => format!("people denied {}", times(denied)),
        (0, blocked) => format!("hooks denied {}", times(blocked)),
        (denied, blocked) => format!("people denied {}, hooks {}", times(denied), times(blocked)),
    };
    match candidate.effect {
        Effect::Deny => format!("Denies `{about}`, which {said} and no one allowed"),
        Effect::Ask => format!("Asks before `{about}`, which {said}"),
        Effect::Allow => {
            let allowed = times(ended(CallOutcome::Allowed));
            format!("Allows exactly what people allowed {allowed}: `{about}`")
        }
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

fn text(candidate: &Candidate, name: &str, description: &str, calls: &[PastCall]) -> String {
    let matter = [
        format!("name: {name}"),
        format!("description: {}", yaml::quoted(description)),
        format!("trigger: [{}]", triggers(candidate.effect).join(", ")),
        "mode: shadow".to_owned(),
    ]
    .join("\n");
    let matcher = yaml::matcher(&candidate.matcher);
    let decision = candidate.effect.word();
    let reason = yaml::quoted(&reason(candidate));
    let fails = if candidate.effect == Effect::Deny { "on_failure: block\n" } else { "" };
    let evidence: Vec<&str> = evidence(candidate, calls).take(EVIDENCE).collect();
    let more = match candidate.examples.len().saturating_sub(EVIDENCE) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "---\n{matter}\n{matcher}decision: {decision}\nreason: {reason}\n{fails}---\n\n# {name}\n\n{description}.\n\nProposed by `anyhook learn` from these records of the journal: {}{more}.\n",
        evidence.join(", ")
    )
}

/// Returns the events at which a proposed hook runs: one that allows does so only where the agent
/// would ask a person.
fn triggers(effect: Effect) -> &'static [&'static str] {
    match effect {
        Effect::Allow => &["permission_request"],
        Effect::Ask | Effect::Deny => &["before_tool", "permission_request"],
    }
}

fn reason(candidate: &Candidate) -> String {
    let what = match candidate.subject {
        Subject::Command { .. } => "`{command}`",
        Subject::File(access) => match access.word() {
            "read" => "reading {path}",
            "delete" => "deleting {path}",
            "move" => "moving {path}",
            _ => "writing {path}",
        },
        Subject::Url(_) => "fetching {url}",
        Subject::Mcp { .. } => "{tool} of {server}",
    };
    match candidate.effect {
        Effect::Deny => format!("{what}: calls like this were denied before"),
        Effect::Ask => format!("{what}: a call like this was denied before"),
        Effect::Allow => format!("{what} was allowed before"),
    }
}

/// Returns the records of the calls that a proposal was made from.
pub fn evidence<'call>(
    candidate: &Candidate,
    calls: &'call [PastCall],
) -> impl Iterator<Item = &'call str> {
    let examples = candidate.examples.clone();
    examples.into_iter().filter_map(|index| Some(calls[index].records.first()?.as_str()))
}

/// Makes the test cases: calls that it was made from, and calls that look alike.
fn tests(candidate: &Candidate, calls: &[PastCall]) -> Vec<ProposedTest> {
    let trigger = triggers(candidate.effect)[0];
    let word = candidate.effect.word();
    let everyday = json!({
        "event_type": trigger, "tool_name": "Shell", "tool_input": {"command": "echo hello"},
    });
    let alike = events(&candidate.look_alikes, trigger, calls);
    let examples = events(&candidate.examples, trigger, calls);
    let examples = numbered(word, "a call from the journal", word, examples);
    let alike = numbered("fine", "a call from the journal that was fine", "skipped", alike);
    let everyday = test("everyday", "an everyday call", &everyday, "skipped");
    examples.chain(alike).chain([everyday]).collect()
}

fn numbered(
    name: &'static str,
    description: &'static str,
    decision: &'static str,
    events: Vec<Value>,
) -> impl Iterator<Item = ProposedTest> {
    let events = events.into_iter().enumerate();
    events.map(move |(index, event)| {
        test(&format!("{name}-{}", index + 1), description, &event, decision)
    })
}

fn test(name: &str, description: &str, event: &Value, decision: &str) -> ProposedTest {
    let case = json!({
        "description": description, "event": event, "expect": {"decision": decision},
    });
    ProposedTest { name: name.to_owned(), case }
}

/// Returns the events of some calls, without duplicates.
fn events(indexes: &[usize], trigger: &str, calls: &[PastCall]) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    for call in indexes.iter().map(|index| &calls[*index]) {
        if events.len() == CASES {
            break;
        }
        match event(call, trigger) {
            Some(event) if !events.contains(&event) => events.push(event),
            _ => {}
        }
    }
    events
}

/// Returns the event of a call in the open format, with paths relative to the project, because a
/// case runs in a scratch project.
fn event(call: &PastCall, trigger: &str) -> Option<Value> {
    let tool = call.event.tool.as_ref()?;
    let mut input = match tools::shell_lines(&tool.input).as_slice() {
        [line] if is_shell(tool) => json!({"command": line}),
        _ => tool.input.clone(),
    };
    if input.to_string().len() > INPUT_LIMIT {
        return None;
    }
    relocate(&mut input, &format!("{}/", call.place.trim_end_matches('/')));
    let name = if is_shell(tool) { "Shell" } else { tool.name.as_str() };
    let mut event = json!({"event_type": trigger, "tool_name": name, "tool_input": input});
    if let Some(mcp) = call.event.raw.get("mcp") {
        event["mcp"] = mcp.clone();
    }
    Some(event)
}

fn relocate(value: &mut Value, project: &str) {
    match value {
        Value::String(text) => *text = text.replace(project, ""),
        Value::Array(items) => items.iter_mut().for_each(|item| relocate(item, project)),
        Value::Object(fields) => fields.values_mut().for_each(|field| relocate(field, project)),
        _ => {}
    }
}
