//! Approvals: asking a person while the agent waits for its reply.
//!
//! The engine itself does not care who is asked, how, or whether there is a daemon. It knows when a
//! person may be asked (`[decisions]` in the settings), about what, and for how long.

use std::borrow::Cow;
use std::fmt::Debug;
use std::time::Duration;

use anyhook_model::approval_request::{
    ANSWER, AgentQuestion, ApprovalEnding, ApprovalKind, Choice, DECLINE, RequestedCall,
};
use anyhook_model::json::{any_leaf, shorten, to_spaced};
use anyhook_model::{
    ApprovalRequest, Effect, Event, EventKind, Host, PromptType, Record, RecordId, Resolution,
    ToolCall, Verdict,
};
use jiff::SignedDuration;
use serde_json::Value;

use crate::digest::Hasher;
use crate::places::Places;
use crate::redact::without_secrets;
use crate::settings::{DecisionSettings, WaitFor};

/// The description of a question is cut to this length.
const QUESTION_LIMIT: usize = 1000;

/// All calls of a request together take at most this many bytes: an open request stays in the
/// daemon's memory.
const CALLS_LIMIT: usize = 48 * 1024;
/// At most this many calls of a patch are shown.
const CALLS_SHOWN: usize = 50;

/// Time reserved for the reply when no one answers.
const MARGIN: Duration = Duration::from_secs(1);

/// The name of the option that lets a call proceed.
pub const ALLOW: &str = "allow";
/// The name of the option that stops a call.
pub const DENY: &str = "deny";

/// Something that can reach a person.
pub trait Approver: Debug + Send + Sync {
    /// Asks, and waits for an answer until the request's `until`; `None` if no one answered.
    fn ask(
        &self,
        places: &Places,
        inquiry: &ApprovalRequest,
        record: &Record,
    ) -> Option<Resolution>;
}

/// Who asks: the record that describes the event, and the id the agent was given.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalContext<'record> {
    /// The id of the record.
    pub id: &'record RecordId,
    /// The id the agent was given by the program that started it.
    pub agent_id: Option<&'record str>,
}

/// Returns what to ask a person, if the settings say so and there is still time to wait.
pub fn inquiry(
    events: &[&Event],
    verdict: &Verdict,
    asker: ApprovalContext<'_>,
    settings: &DecisionSettings,
    left: Option<Duration>,
    questions: AgentQuestions,
) -> Option<ApprovalRequest> {
    let event = events.first()?;
    let (mut kind, wait) = wanted(event, verdict)?;
    if kind == ApprovalKind::Permission {
        match &questions {
            // It has its own answers, and neither yes nor no is one of them.
            AgentQuestions::Unreadable => return None,
            AgentQuestions::Asked(_) => kind = ApprovalKind::Question,
            AgentQuestions::None => {}
        }
    }
    let limit = Duration::from_secs(settings.wait_seconds);
    let limit = left.map_or(limit, |left| limit.min(left.saturating_sub(MARGIN)));
    if !settings.wait.contains(&wait) || limit.is_zero() {
        return None;
    }
    let tool = event.tool.as_ref()?;
    let clean = |text: &str| shorten(&without_secrets(text.to_owned()), QUESTION_LIMIT);
    let questions = match questions {
        AgentQuestions::Asked(questions) if kind == ApprovalKind::Question => questions,
        _ => Vec::new(),
    };
    let question = match (&verdict.reason, &questions[..]) {
        (_, [one]) => clean(&one.text),
        (_, [_, ..]) => {
            let texts: Vec<&str> = questions.iter().map(|one| one.text.as_str()).collect();
            clean(&format!("{} questions: {}", texts.len(), texts.join(" · ")))
        }
        (Some(reason), []) if kind == ApprovalKind::Ask => clean(reason),
        _ => format!("{} wants to use {}", event.host, tool.name),
    };
    let created = crate::now();
    let until =
        SignedDuration::try_from(limit).ok().and_then(|limit| created.checked_add(limit).ok());
    Some(ApprovalRequest {
        id: asker.id.clone(),
        kind,
        agent: agent_of(asker.agent_id, event)?,
        question,
        tool: Some(tool.name.clone()),
        about: about(events).filter(|_| questions.is_empty()).map(|about| clean(&about)),
        digest: Some(digest(events)),
        hook: verdict.by.clone().filter(|_| kind == ApprovalKind::Ask),
        calls: if questions.is_empty() { calls(events, verdict) } else { Vec::new() },
        options: options(&questions),
        questions,
        created,
        until,
    })
}

/// The questions an agent asks the person through a tool call, if the call is of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentQuestions {
    /// The call asks no questions.
    None,
    /// The call asks questions, but they cannot be read or answered.
    Unreadable,
    /// The questions asked.
    Asked(Vec<AgentQuestion>),
}

impl AgentQuestions {
    /// Returns the questions in a host's call.
    pub fn of(host: &dyn Host, event: &Event) -> Self {
        let Some(tool) = &event.tool else { return Self::None };
        if host.prompt_tool(&tool.name) != Some(PromptType::Question) {
            return Self::None;
        }
        let questions = host.questions(tool);
        if questions.is_empty() { Self::Unreadable } else { Self::Asked(questions) }
    }
}

/// Returns the options to choose from. For a single question, its options are included; several
/// questions, or one with several answers, need more than a number.
fn options(questions: &[AgentQuestion]) -> Vec<Choice> {
    let mut options = match questions {
        [] => {
            return vec![
                Choice::new(ALLOW, "the call is allowed"),
                Choice::new(DENY, "the call is denied, and the agent is told why"),
            ];
        }
        [one] if !one.multiple => one.options.clone(),
        _ => Vec::new(),
    };
    options.push(Choice::new(DECLINE, "the question is left unanswered, and the agent is told"));
    options
}

/// Returns what kind of approval an event needs, if any.
pub fn wanted(event: &Event, verdict: &Verdict) -> Option<(ApprovalKind, WaitFor)> {
    let is_call = matches!(event.kind, EventKind::BeforeTool | EventKind::PermissionRequest);
    match verdict.effect {
        Some(Effect::Ask) if is_call => Some((ApprovalKind::Ask, WaitFor::Ask)),
        None if event.kind == EventKind::PermissionRequest => {
            Some((ApprovalKind::Permission, WaitFor::Permission))
        }
        _ => None,
    }
}

/// Applies an answer to the verdict. An answer about another call is ignored.
pub fn take(verdict: &mut Verdict, inquiry: &ApprovalRequest, answer: &Resolution) -> bool {
    if answer.id != inquiry.id
        || answer.digest != inquiry.digest
        || answer.ending != ApprovalEnding::Chosen
    {
        return false;
    }
    let (effect, word) = match answer.choice.as_deref() {
        Some(ALLOW) if inquiry.questions.is_empty() => (Effect::Allow, "allowed it"),
        Some(DENY) if inquiry.questions.is_empty() => (Effect::Deny, "denied it"),
        Some(ANSWER) if answer.answers.len() == inquiry.questions.len() => {
            (Effect::Allow, "answered")
        }
        Some(DECLINE) => (Effect::Deny, "declined to answer"),
        _ => return false,
    };
    let answers: Vec<String> = answer.answers.iter().map(|one| one.answer.join(", ")).collect();
    let answers = Some(answers.join("; ")).filter(|answers| !answers.is_empty());
    let said = answers.or_else(|| answer.message.clone());
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    verdict.effect = Some(effect);
    verdict.by = Some(format!("decision {}", inquiry.id));
    verdict.reason = Some(format!("{} {word}{said}", answer.by));
    true
}

/// Returns the agent that asks: the id it was given, otherwise its host and session.
fn agent_of(agent_id: Option<&str>, event: &Event) -> Option<String> {
    let of_session = |session: &str| anyhook_model::agent::agent_id(&event.host, session);
    agent_id.map(str::to_owned).or_else(|| event.session.as_deref().map(of_session))
}

/// Returns what a call is about; a call that is several, such as a patch of many files, names all
/// of them.
fn about(events: &[&Event]) -> Option<String> {
    let [event] = events else {
        let of_call = |event: &&Event| {
            let tool = event.tool.as_ref().map_or("", |tool| &tool.name);
            format!("{tool} {}", event.headline().unwrap_or_default())
        };
        let all: Vec<String> = events.iter().map(of_call).collect();
        return Some(format!("{} changes: {}", all.len(), all.join(", ")));
    };
    event.headline().map(Cow::into_owned)
}

/// Returns the calls for the person who decides, without secrets.
fn calls(events: &[&Event], verdict: &Verdict) -> Vec<RequestedCall> {
    let tools: Vec<_> = events.iter().filter_map(|event| event.tool.as_ref()).collect();
    let limit = CALLS_LIMIT / tools.len().max(1);
    let of_tool = |tool: &&ToolCall| {
        // Hooks change the input of a single call only.
        let changed = verdict.input.as_ref().filter(|_| tools.len() == 1);
        let changed = changed.map(|changed| readable(&Value::from(changed.clone()), limit));
        let (input, is_shortened) = readable(&tool.input, limit);
        RequestedCall {
            tool: tool.name.clone(),
            input,
            shortened: is_shortened || changed.as_ref().is_some_and(|(_, shortened)| *shortened),
            changed: changed.map(|(changed, _)| changed),
        }
    };
    tools.iter().take(CALLS_SHOWN).map(of_tool).collect()
}

/// Returns an input without secrets and of a bounded length, and whether it was shortened.
fn readable(input: &Value, limit: usize) -> (Value, bool) {
    let text = input.to_string();
    if text.len() <= limit {
        let clean = without_secrets(text);
        return (serde_json::from_str(&clean).unwrap_or(Value::String(clean)), false);
    }
    // One text is what makes inputs long; of several, each gets its part.
    let mut texts = 0_usize;
    any_leaf(input, &mut |_| {
        texts += 1;
        false
    });
    let each = limit / 2 / texts.max(1);
    let mut short = input.clone();
    for_each_text(&mut short, &mut |text| {
        *text = shorten(&without_secrets(std::mem::take(text)), each);
    });
    let text = short.to_string();
    if text.len() <= limit { (short, true) } else { (Value::String(shorten(&text, limit)), true) }
}

fn for_each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(all) => all.iter_mut().for_each(|one| for_each_text(one, change)),
        Value::Object(all) => all.values_mut().for_each(|one| for_each_text(one, change)),
        _ => {}
    }
}

fn digest(events: &[&Event]) -> String {
    let mut hash = Hasher::default();
    for (index, tool) in events.iter().filter_map(|event| event.tool.as_ref()).enumerate() {
        if index > 0 {
            hash.update(b"\n");
        }
        hash.update(tool.name.as_bytes());
        hash.update(b"\n");
        hash.update(to_spaced(&tool.input).as_bytes());
    }
    hash.finish_hex()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn event(kind: EventKind, command: &str) -> Event {
        let mut event = Event::new(kind, "claude-code", Path::new("/p"), Timestamp::UNIX_EPOCH);
        event.session = Some("s".to_owned());
        event.tool = Some(ToolCall::new("Shell", json!({"command": command})));
        event
    }

    fn asker(id: &RecordId) -> ApprovalContext<'_> {
        ApprovalContext { id, agent_id: None }
    }

    fn id() -> RecordId {
        RecordId::from_text("7k2m9x4q")
    }

    fn asked(
        event: &Event,
        effect: Option<Effect>,
        settings: &DecisionSettings,
    ) -> Option<ApprovalRequest> {
        let verdict = Verdict { effect, reason: Some("why".to_owned()), ..Verdict::default() };
        inquiry(&[event], &verdict, asker(&id()), settings, None, AgentQuestions::None)
    }

    fn both() -> DecisionSettings {
        DecisionSettings { wait: vec![WaitFor::Permission, WaitFor::Ask], wait_seconds: 60 }
    }

    #[test]
    fn a_person_is_asked_only_where_the_settings_say_so() {
        let permission = event(EventKind::PermissionRequest, "ls");
        let call = event(EventKind::BeforeTool, "ls");
        assert!(asked(&permission, None, &DecisionSettings::default()).is_none(), "opt-in");
        assert!(asked(&call, Some(Effect::Ask), &DecisionSettings::default()).is_none());
        let inquiry = asked(&permission, None, &both()).unwrap();
        assert_eq!(
            (inquiry.kind, inquiry.agent.as_str()),
            (ApprovalKind::Permission, "claude-code:s")
        );
        assert_eq!(asked(&call, Some(Effect::Ask), &both()).unwrap().question, "why");
        assert!(asked(&call, None, &both()).is_none(), "nobody asks");
        assert!(asked(&permission, Some(Effect::Deny), &both()).is_none(), "a hook has decided");
        assert!(asked(&event(EventKind::AfterTool, "ls"), Some(Effect::Ask), &both()).is_none());
    }

    #[test]
    fn the_wait_ends_before_the_deadline() {
        let permission = event(EventKind::PermissionRequest, "ls");
        let ask = |left| {
            let (verdict, id) = (Verdict::default(), id());
            inquiry(&[&permission], &verdict, asker(&id), &both(), Some(left), AgentQuestions::None)
        };
        let inquiry = ask(Duration::from_secs(11)).unwrap();
        let wait = inquiry.until.unwrap().duration_since(inquiry.created);
        assert_eq!(wait, SignedDuration::from_secs(10));
        assert!(ask(Duration::from_millis(500)).is_none(), "there is no time to wait");
    }

    #[test]
    fn a_call_that_is_several_is_asked_about_as_a_whole() {
        let ask = |events: &[&Event]| {
            let (verdict, id) = (Verdict::default(), id());
            inquiry(events, &verdict, asker(&id), &both(), None, AgentQuestions::None).unwrap()
        };
        let one = event(EventKind::PermissionRequest, "ls");
        let other = event(EventKind::PermissionRequest, "rm -rf /");
        let both = ask(&[&one, &other]);
        assert_eq!(both.about.as_deref(), Some("2 changes: Shell ls, Shell rm -rf /"));
        assert_ne!(both.digest, ask(&[&one]).digest);
    }

    #[test]
    fn the_person_sees_the_whole_call_without_secrets() {
        let token = format!("ghp_{}", "x7".repeat(18));
        let mut call = event(EventKind::BeforeTool, &format!("echo {token}; ls"));
        let inquiry = asked(&call, Some(Effect::Ask), &both()).unwrap();
        let [shown] = &inquiry.calls[..] else { panic!("{inquiry:?}") };
        let command = shown.input["command"].as_str().unwrap();
        assert!(command.starts_with("echo [redacted") && command.ends_with("; ls"), "{command}");
        assert!(!shown.shortened && shown.changed.is_none(), "{shown:?}");
        call.tool.as_mut().unwrap().input =
            json!({"path": "a", "content": "é".repeat(CALLS_LIMIT)});
        let inquiry = asked(&call, Some(Effect::Ask), &both()).unwrap();
        let [shown] = &inquiry.calls[..] else { panic!("{inquiry:?}") };
        assert!(shown.shortened && shown.input["path"] == "a", "{shown:?}");
        assert!(shown.input.to_string().len() <= CALLS_LIMIT);
        let many: Vec<Event> = (0..CALLS_SHOWN * 2).map(|_| call.clone()).collect();
        let many: Vec<&Event> = many.iter().collect();
        let size: usize =
            calls(&many, &Verdict::default()).iter().map(|call| call.input.to_string().len()).sum();
        assert!(size <= CALLS_LIMIT, "{size}");
    }

    #[test]
    fn an_answer_counts_for_its_own_call_alone() {
        let inquiry = asked(&event(EventKind::PermissionRequest, "ls"), None, &both()).unwrap();
        let other = asked(&event(EventKind::PermissionRequest, "rm -rf /"), None, &both()).unwrap();
        assert_ne!(inquiry.digest, other.digest);
        let answer = Resolution {
            id: inquiry.id.clone(),
            agent: inquiry.agent.clone(),
            ending: ApprovalEnding::Chosen,
            choice: Some(ALLOW.to_owned()),
            message: None,
            answers: Vec::new(),
            by: "ann".to_owned(),
            process: None,
            at: Timestamp::UNIX_EPOCH,
            digest: inquiry.digest.clone(),
            asked: None,
            agent_name: None,
            pipeline: None,
            claimed_by: None,
            again: false,
            follows: None,
            signature: None,
        };
        let mut verdict = Verdict::default();
        assert!(!take(&mut verdict, &other, &answer));
        assert_eq!(verdict, Verdict::default());
        let late = Resolution { ending: ApprovalEnding::Expired, ..answer.clone() };
        assert!(!take(&mut verdict, &inquiry, &late));
        let odd = Resolution { choice: Some("whatever".to_owned()), ..answer.clone() };
        assert!(!take(&mut verdict, &inquiry, &odd));
        assert!(take(&mut verdict, &inquiry, &answer));
        assert_eq!(verdict.effect, Some(Effect::Allow));
        assert_eq!(verdict.reason.as_deref(), Some("ann allowed it"));
    }
}
