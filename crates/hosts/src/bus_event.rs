//! Converts journal records to bus events: what a record says about an agent's state.

use anyhook_model::approval_request::AgentQuestion;
use anyhook_model::bus::{AgentFailed, AgentPrompt, AgentReport, AlarmReport};
use anyhook_model::json::shorten;
use anyhook_model::{
    Alarm, AlarmKind, BusEvent, Caller, Effect, EventKind, Host, PromptType, Record, RecordId,
    StateSource, agent,
};
use serde_json::Value;

use crate::log::failure_kind;

/// The host of records that no agent sent: those of `anyhook emit`, and those the daemon writes.
pub const OURS: &str = "anyhook";

/// The maximum length of an agent's id.
pub const AGENT_LIMIT: usize = 200;
/// The maximum length of what an agent asks the user.
const ASKED_LIMIT: usize = 1000;
/// The maximum length of an agent's message about its work.
pub const MESSAGE_LIMIT: usize = 4 * 1024;

/// Events of hosts that report that a dialog was answered, wherever it was answered.
const ANSWERED: [&str; 3] = ["permission.replied", "question.replied", "question.rejected"];

/// Creates the record of an event that was reported to us.
pub fn record(id: RecordId, at: jiff::Timestamp, event: &BusEvent) -> Record {
    let kind = EventKind::Other(event.type_name().to_owned());
    let mut record = Record::new(id, at, OURS, kind);
    record.agent_id = event.report().map(|report| report.agent.clone());
    if let Ok(text) = serde_json::to_string(event) {
        record.payload = Some(anyhook_model::Payload::new(text.as_bytes()));
    }
    record
}

/// Returns the event that a record contains about its agent, if any.
pub fn from_record(record: &Record) -> Option<BusEvent> {
    if record.host == OURS {
        return told(record);
    }
    of_agent(record, agent_of(record)?)
}

/// Returns the alarms of a record of which a person should be notified, wherever they are.
///
/// That hooks are off is shown by the agent; a notice is needed only if the agent shows no text.
pub fn alarms_of(record: &Record) -> Option<AlarmReport> {
    if record.alarms.is_empty() {
        return None;
    }
    let is_shown = crate::find_host(&record.host).is_some_and(Host::warns_person);
    let alarms: Vec<Alarm> = record
        .alarms
        .iter()
        .filter(|alarm| alarm.kind != AlarmKind::HooksOff || !is_shown)
        .cloned()
        .collect();
    (!alarms.is_empty()).then(|| AlarmReport {
        record: record.id.clone(),
        agent: agent_of(record).unwrap_or_else(|| record.host.clone()),
        host: record.host.clone(),
        project: record.project_dir.clone(),
        session: record.session.clone().filter(|_| record.call.is_some()),
        call: record.call.clone(),
        at: record.at,
        alarms,
    })
}

/// Returns the id of the agent that a record is about.
fn agent_of(record: &Record) -> Option<String> {
    record.agent_id.clone().or_else(|| {
        let session = record.session.as_deref()?;
        Some(agent::agent_id(&record.host, session))
    })
}

/// Returns the event that a host's record contains about the agent with this id, if any.
pub fn of_agent(record: &Record, id: String) -> Option<BusEvent> {
    // The outcome of a hook that ran in the background, and further events of one payload, add
    // nothing; a canary is no agent.
    if record.of.is_some()
        || record.with.is_some()
        || record.is_canary()
        || record.is_unasked_call()
    {
        return None;
    }
    let payload = || -> Value {
        let text = record.payload.as_ref().map(anyhook_model::Payload::as_text);
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    };
    let report = report(record, id);
    let prompt = |prompt_type| {
        Some(BusEvent::AgentPrompt(AgentPrompt { report: report.clone(), prompt_type }))
    };
    match &record.event {
        // A compaction changes nothing: the agent continues what it did, or stays idle.
        EventKind::SessionStart if is(&payload(), "source", "compact") => None,
        EventKind::PreCompact | EventKind::PostCompact if is(&payload(), "trigger", "manual") => {
            None
        }
        EventKind::SessionStart => Some(BusEvent::AgentIdle(AgentReport { fresh: true, ..report })),
        EventKind::SessionEnd => {
            // The placeholder that hosts send if there is no reason.
            let about = report.about.clone().filter(|reason| reason != "other");
            Some(BusEvent::AgentExited(AgentReport { about, ..report }))
        }
        // A gate that blocks the stop keeps the agent working.
        EventKind::BeforeStop if record.denies() => Some(BusEvent::AgentStop(report)),
        EventKind::BeforeStop | EventKind::AfterStop | EventKind::AfterAgent => {
            Some(BusEvent::AgentIdle(report))
        }
        EventKind::BeforeTool if record.denies() => Some(BusEvent::AgentWorking(report)),
        EventKind::BeforeTool if record.verdict.effect == Some(Effect::Ask) => {
            prompt(PromptType::Permission)
        }
        EventKind::BeforeTool => match prompt_tool(record) {
            Some(prompt_type) => prompt(prompt_type),
            None => Some(BusEvent::AgentWorking(report)),
        },
        EventKind::PermissionRequest => match record.verdict.effect {
            Some(Effect::Allow | Effect::Deny) => Some(BusEvent::AgentWorking(report)),
            Some(Effect::Ask) | None => {
                prompt(prompt_tool(record).unwrap_or(PromptType::Permission))
            }
        },
        EventKind::Notification => {
            // Reported late: second-hand, although it arrives as a native event.
            let report = AgentReport {
                source: StateSource::Notification,
                tool: None,
                about: None,
                ..report
            };
            match notice(record, &payload()) {
                Some(PromptType::Idle) => Some(BusEvent::AgentIdle(report)),
                Some(prompt_type) => {
                    Some(BusEvent::AgentPrompt(AgentPrompt { report, prompt_type }))
                }
                None => None,
            }
        }
        // Continued by one of our gates, or by the host itself.
        EventKind::Other(name) if name == "continuation" => Some(BusEvent::AgentWorking(report)),
        // It ends only a known call: others may still be waiting for an answer.
        EventKind::Other(name) if ANSWERED.contains(&name.as_str()) => {
            let call_ended = report.call.is_some();
            Some(BusEvent::AgentWorking(AgentReport { call_ended, ..report }))
        }
        EventKind::Other(name) => failure(name, &payload(), report),
        EventKind::BeforeAgent => Some(BusEvent::AgentInput(report)),
        EventKind::AfterTool
        | EventKind::AfterToolFailure
        | EventKind::SubagentStart
        | EventKind::SubagentStop
        | EventKind::PreCompact
        | EventKind::PostCompact => Some(BusEvent::AgentWorking(report)),
    }
}

fn is(payload: &Value, key: &str, text: &str) -> bool {
    payload.get(key).and_then(Value::as_str) == Some(text)
}

fn report(record: &Record, agent: String) -> AgentReport {
    // A denied call does not start.
    let begins = |text: &Option<String>| text.clone().filter(|_| !record.denies());
    let questions = questions(record);
    AgentReport {
        agent,
        source: StateSource::Hook,
        at: Some(record.at),
        host: Some(record.host.clone()),
        session: record.session.clone(),
        work_dir: Some(record.work_dir.clone()).filter(|folder| !folder.is_empty()),
        project: record.project_dir.clone(),
        tool: begins(&record.tool),
        about: begins(&asked(&questions).or_else(|| record.about.clone())),
        call: call(record),
        subagent: record.agent.clone(),
        call_ended: matches!(record.event, EventKind::AfterTool | EventKind::AfterToolFailure),
        process: record.process.clone(),
        log: None,
        record: Some(record.id.clone()),
        fresh: false,
        broken_off: false,
        asks: record.event == EventKind::PermissionRequest,
        likely: false,
        questions,
    }
}

/// Returns what the user is asked, with the answers that are offered: `Which colour? (red, blue)`.
fn asked(questions: &[AgentQuestion]) -> Option<String> {
    let question = |asked: &AgentQuestion| {
        let names: Vec<&str> = asked.options.iter().map(|option| option.name.as_str()).collect();
        let offers =
            if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        format!("{}{offers}", asked.text)
    };
    let all: Vec<String> = questions.iter().map(question).collect();
    Some(shorten(&all.join(" · "), ASKED_LIMIT)).filter(|asked| !asked.is_empty())
}

/// Returns what the agent asks the user with its call, if that is answered on its screen.
fn questions(record: &Record) -> Vec<AgentQuestion> {
    let read = || {
        let host = crate::find_host(&record.host).filter(|host| host.is_answered_by_keys())?;
        let is_asked = prompt_tool(record) == Some(PromptType::Question);
        let text = record.payload.as_ref().filter(|_| is_asked)?.as_text();
        let caller = Caller::new(&record.work_dir, record.at);
        let events = host.decode(text.as_bytes(), &caller).ok()?;
        Some(host.questions(events.first()?.tool.as_ref()?))
    };
    match record.event {
        EventKind::BeforeTool => read().unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Returns the digest of the call, which identifies it before and after it runs.
fn call(record: &Record) -> Option<String> {
    let digest =
        |text: &Option<String>| text.as_deref()?.strip_prefix("sha256:").map(str::to_owned);
    digest(&record.call_digest).or_else(|| digest(&record.call))
}

/// Parses an event that was reported to us. The sender does not matter: anyone who can write to the
/// journal can send one.
fn told(record: &Record) -> Option<BusEvent> {
    let text = record.payload.as_ref()?.as_text();
    let mut event: BusEvent = serde_json::from_str(text).ok()?;
    let is_signal = matches!(event, BusEvent::AgentSignal(_));
    let report = event.report_mut()?;
    report.at = Some(record.at);
    report.record = Some(record.id.clone());
    // No one can impersonate a host's own event.
    report.source = if is_signal { StateSource::Signal } else { StateSource::Notification };
    report.process = None;
    report.agent = shorten(&report.agent, AGENT_LIMIT);
    if let BusEvent::AgentSignal(signal) = &mut event {
        signal.message = signal.message.as_deref().map(|text| shorten(text, MESSAGE_LIMIT));
    }
    Some(event)
}

/// Returns the kind of prompt an agent shows when it calls this tool, if it is a question to the
/// user.
fn prompt_tool(record: &Record) -> Option<PromptType> {
    crate::find_host(&record.host)?.prompt_tool(record.tool.as_deref()?)
}

/// Returns what a notification is about, for every host's wording.
fn notice(record: &Record, payload: &Value) -> Option<PromptType> {
    let kind = ["notification_type", "kind"].iter().find_map(|key| payload.get(key)?.as_str());
    let kind = kind.or(record.native_name.as_deref()).unwrap_or_default().to_ascii_lowercase();
    let kinds = [
        ("permission", PromptType::Permission),
        ("idle", PromptType::Idle),
        ("elicitation_dialog", PromptType::Question),
    ];
    kinds.into_iter().find(|(word, _)| kind.contains(word)).map(|(_, prompt_type)| prompt_type)
}

/// Parses an event that no specification names and that reports a failed turn.
fn failure(name: &str, payload: &Value, report: AgentReport) -> Option<BusEvent> {
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str);
    let (words, message) = match name {
        "StopFailure" => (text("/error"), text("/last_assistant_message")),
        "session.error" => {
            let message = text("/event/properties/error/data/message");
            (text("/event/properties/error/name"), message)
        }
        _ => return None,
    };
    let all = format!("{} {}", words.unwrap_or_default(), message.unwrap_or_default());
    let status = payload.pointer("/event/properties/error/data/statusCode").and_then(Value::as_u64);
    let (kind, message) = (failure_kind(status, &all), message.or(words).map(str::to_owned));
    Some(BusEvent::AgentFailed(AgentFailed { report, kind, message }))
}

#[cfg(test)]
mod tests {
    use anyhook_model::bus::{AgentSignal, SignalKind};
    use anyhook_model::{Lost, Payload};
    use jiff::Timestamp;

    use super::*;

    fn record_of(host: &str, event: &str) -> Record {
        let id = RecordId::from_text("7k2m9x4q");
        let mut record = Record::new(id, Timestamp::UNIX_EPOCH, host, EventKind::from_name(event));
        record.session = Some("s".to_owned());
        record
    }

    fn says(record: &Record) -> String {
        match from_record(record) {
            None => "nothing".to_owned(),
            Some(BusEvent::AgentPrompt(prompt)) => prompt.prompt_type.name().to_owned(),
            Some(BusEvent::AgentFailed(failed)) => failed.kind.name().to_owned(),
            Some(event) => event.type_name().to_owned(),
        }
    }

    #[test]
    fn events_tell_what_an_agent_does() {
        for (event, expected) in [
            ("session_start", "agent:idle"),
            ("before_agent", "agent:input"),
            ("before_tool", "agent:working"),
            ("after_tool", "agent:working"),
            ("after_tool_failure", "agent:working"),
            ("permission_request", "permission"),
            ("before_stop", "agent:idle"),
            ("subagent_start", "agent:working"),
            ("subagent_stop", "agent:working"),
            ("pre_compact", "agent:working"),
            ("session_end", "agent:exited"),
            ("continuation", "agent:working"),
            ("permission.replied", "agent:working"),
            ("question.rejected", "agent:working"),
            ("SomethingNew", "nothing"),
        ] {
            assert_eq!(says(&record_of("claude-code", event)), expected, "{event}");
        }
    }

    #[test]
    fn a_compaction_by_hand_changes_nothing() {
        for (event, payload, expected) in [
            ("pre_compact", r#"{"trigger": "manual"}"#, "nothing"),
            ("post_compact", r#"{"trigger": "manual"}"#, "nothing"),
            ("pre_compact", r#"{"trigger": "auto"}"#, "agent:working"),
            ("session_start", r#"{"source": "compact"}"#, "nothing"),
            ("session_start", r#"{"source": "clear"}"#, "agent:idle"),
        ] {
            let mut record = record_of("claude-code", event);
            record.payload = Some(Payload::new(payload.as_bytes()));
            assert_eq!(says(&record), expected, "{event} {payload}");
        }
    }

    #[test]
    fn verdicts_count() {
        let decided = |event: &str, effect| {
            let mut record = record_of("claude-code", event);
            record.verdict.effect = Some(effect);
            says(&record)
        };
        assert_eq!(decided("before_tool", Effect::Deny), "agent:working");
        assert_eq!(decided("before_tool", Effect::Ask), "permission");
        assert_eq!(decided("before_stop", Effect::Deny), "agent:stop", "the gate holds");
        assert_eq!(decided("permission_request", Effect::Allow), "agent:working");
        assert_eq!(decided("permission_request", Effect::Deny), "agent:working");
        let mut denied = record_of("claude-code", "before_tool");
        denied.tool = Some("Shell".to_owned());
        let tool = |record: &Record| from_record(record).unwrap().report().unwrap().tool.clone();
        assert_eq!(tool(&denied).as_deref(), Some("Shell"));
        denied.verdict.effect = Some(Effect::Deny);
        assert_eq!(tool(&denied), None, "it does not begin");
        let mut turned_down = record_of("codex", "before_tool");
        turned_down.verdict.effect = Some(Effect::Ask);
        let lost = Lost { what: "ask".to_owned(), instead: "deny: approve it".to_owned() };
        turned_down.lost = vec![lost];
        assert_eq!(says(&turned_down), "agent:working", "nobody could be asked");
    }

    #[test]
    fn some_tools_are_questions() {
        for (host, tool, expected) in [
            ("claude-code", "AskUserQuestion", "question"),
            ("claude-code", "ExitPlanMode", "plan_approval"),
            ("claude-code", "Shell", "agent:working"),
            ("opencode", "question", "question"),
            ("nobody", "AskUserQuestion", "agent:working"),
        ] {
            let mut record = record_of(host, "before_tool");
            record.tool = Some(tool.to_owned());
            assert_eq!(says(&record), expected, "{host} {tool}");
        }
    }

    /// The answer arrives with the tool's call, which by itself is a question.
    #[test]
    fn the_answer_to_a_dialog_is_not_the_dialog() {
        for (name, tool) in
            ANSWERED.into_iter().flat_map(|name| [(name, "question"), (name, "bash")])
        {
            let payload = serde_json::json!({
                "hook": name,
                "event": {"type": name, "properties": {"sessionID": "s", "requestID": "r"}},
                "input": {"tool": tool, "sessionID": "s", "callID": "c", "args": {}},
            });
            let caller = Caller::new("/p", Timestamp::UNIX_EPOCH);
            let host = crate::find_host("opencode").unwrap();
            let event = host.decode(payload.to_string().as_bytes(), &caller).unwrap().remove(0);
            assert_eq!((&event.kind, event.doubt), (&EventKind::Other(name.to_owned()), None));
            let mut record = record_of("opencode", name);
            record.event = event.kind;
            record.tool = event.tool.map(|tool| tool.name);
            record.call_digest = Some("sha256:ab".to_owned());
            let Some(BusEvent::AgentWorking(report)) = from_record(&record) else {
                panic!("{name} of {tool}: {}", says(&record))
            };
            assert!(report.call_ended, "{name} of {tool}: others may still be asked about");
            assert_eq!((report.call.as_deref(), report.tool.is_some()), (Some("ab"), true));
        }
    }

    #[test]
    fn questions_that_keys_answer_are_told_with_their_options() {
        let asked = |host: &str, event: &str, tool: &str| {
            let options = serde_json::json!([{"label": "red"}, {"label": "blue"}]);
            let input = serde_json::json!({
                "questions": [{"question": "Which colour?", "options": options}],
            });
            let payload = serde_json::json!({
                "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
            });
            let mut record = record_of(host, event);
            record.tool = Some(tool.to_owned());
            record.payload = Some(Payload::new(payload.to_string().as_bytes()));
            let event = from_record(&record).unwrap();
            let report = event.report().unwrap();
            let is_told = report.about.as_deref() == Some("Which colour? (red, blue)");
            assert_eq!(is_told, !report.questions.is_empty());
            report.questions.clone()
        };
        let questions = asked("codex", "before_tool", "request_user_input");
        let names: Vec<&str> = questions[0].options.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((questions[0].text.as_str(), names), ("Which colour?", vec!["red", "blue"]));
        assert!(asked("codex", "after_tool", "request_user_input").is_empty(), "already finished");
        assert!(asked("codex", "before_tool", "update_plan").is_empty());
        let by_hook = asked("claude-code", "before_tool", "AskUserQuestion");
        assert!(by_hook.is_empty(), "a hook's reply answers it");
    }

    #[test]
    fn a_notification_tells_its_kind_in_every_hosts_words() {
        let notification = |payload: &str, native: Option<&str>| {
            let mut record = record_of("claude-code", "notification");
            record.payload = Some(Payload::new(payload.as_bytes()));
            record.native_name = native.map(str::to_owned);
            says(&record)
        };
        for payload in [
            r#"{"notification_type": "permission_prompt"}"#,
            r#"{"notification_type": "ToolPermission"}"#,
            r#"{"kind": "permission_prompt"}"#,
        ] {
            assert_eq!(notification(payload, Some("Notification")), "permission", "{payload}");
        }
        assert_eq!(notification("{}", Some("permission.asked")), "permission");
        assert_eq!(notification(r#"{"notification_type": "idle_prompt"}"#, None), "agent:idle");
        for nothing in [r#"{"kind": 7}"#, "no JSON", r#"{"notification_type": "auth_success"}"#] {
            assert_eq!(notification(nothing, None), "nothing");
        }
    }

    #[test]
    fn failed_turns_tell_why() {
        let failed = |error: &str| {
            let mut record = record_of("claude-code", "StopFailure");
            let payload =
                serde_json::json!({"error": error, "last_assistant_message": "API Error"});
            record.payload = Some(Payload::new(payload.to_string().as_bytes()));
            says(&record)
        };
        for (error, kind) in [
            ("rate_limit", "rate_limited"),
            ("authentication_failed", "unauthorized"),
            ("billing_error", "out_of_credits"),
            ("ECONNREFUSED", "no_network"),
            ("unknown", "other"),
        ] {
            assert_eq!(failed(error), kind, "{error}");
        }
    }

    #[test]
    fn an_agent_has_the_id_it_was_given() {
        let mut record = record_of("codex", "before_stop");
        assert_eq!(from_record(&record).unwrap().report().unwrap().agent, "codex:s");
        record.agent_id = Some("mine".to_owned());
        assert_eq!(from_record(&record).unwrap().report().unwrap().agent, "mine");
        (record.agent_id, record.session) = (None, None);
        assert_eq!(from_record(&record), None, "nobody knows whose it is");
    }

    #[test]
    fn what_is_emitted_passes_for_no_native_event() {
        let signal = BusEvent::AgentSignal(AgentSignal {
            report: AgentReport { agent: "a".to_owned(), ..AgentReport::default() },
            kind: SignalKind::Escalate,
            message: Some("look".to_owned()),
        });
        let emitted = record(RecordId::from_text("x"), Timestamp::UNIX_EPOCH, &signal);
        let Some(BusEvent::AgentSignal(read)) = from_record(&emitted) else { panic!("no signal") };
        assert_eq!((read.report.source, read.kind), (StateSource::Signal, SignalKind::Escalate));

        let text =
            r#"{"type":"agent:gone","agent":"a","source":"hook","process":{"pid":1,"started":1}}"#;
        let mut forged = record_of(OURS, "agent:gone");
        forged.payload = Some(Payload::new(text.as_bytes()));
        let forged = from_record(&forged).unwrap();
        let report = forged.report().unwrap();
        assert_eq!((report.source, &report.process), (StateSource::Notification, &None));
        let mut other = record_of(OURS, "whatever");
        other.payload = Some(Payload::new(b"{\"type\":\"whatever\"}"));
        assert_eq!(from_record(&other), None);
    }
}
