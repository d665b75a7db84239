//! What an agent does, as far as its events tell.

use anyhook_model::{Effect, EventKind, Record};
use jiff::SignedDuration;
use serde_json::Value;

use crate::ui::Tone;

/// An agent at work that is silent for so long counts as idle.
const IDLE_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// What an agent does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It thinks, or does what no event tells of.
    Working,
    /// It runs a tool.
    Running(String),
    /// A person must allow something.
    Asks,
    /// It is done and the person's turn has come.
    Waits,
    /// A subagent that is done.
    Stopped,
    /// Its session is over.
    Ended,
}

impl State {
    /// Returns the state after one more event.
    pub fn after(self, record: &Record) -> Self {
        let tool = || record.tool.clone().unwrap_or_else(|| "a tool".to_owned());
        match &record.event {
            // What was denied does not begin, and a gate that holds keeps the agent at work.
            EventKind::BeforeTool | EventKind::BeforeStop | EventKind::SubagentStop
                if record.denies() =>
            {
                Self::Working
            }
            EventKind::BeforeTool if record.verdict.effect == Some(Effect::Ask) => Self::Asks,
            EventKind::BeforeTool => Self::Running(tool()),
            EventKind::PermissionRequest => match record.verdict.effect {
                Some(Effect::Allow) => Self::Running(tool()),
                Some(Effect::Deny) => Self::Working,
                Some(Effect::Ask) | None => Self::Asks,
            },
            EventKind::Notification => match Notice::of(record) {
                Notice::Permission => Self::Asks,
                Notice::Idle => Self::Waits,
                Notice::Other => self,
            },
            EventKind::BeforeStop | EventKind::AfterStop | EventKind::AfterAgent => Self::Waits,
            EventKind::SubagentStop => Self::Stopped,
            EventKind::SessionEnd => Self::Ended,
            EventKind::Other(_) => self,
            _ => Self::Working,
        }
    }

    /// Returns the words for it, after so long without an event.
    pub fn words(&self, silent: SignedDuration) -> (Tone, String) {
        let (tone, words) = match self {
            Self::Working | Self::Running(_) if silent >= IDLE_AFTER => (Tone::Dim, "idle"),
            Self::Working => (Tone::Good, "working"),
            Self::Running(tool) => return (Tone::Good, format!("running {tool}")),
            Self::Asks => (Tone::Warn, "asks permission"),
            Self::Waits => (Tone::Hint, "waits for you"),
            Self::Stopped => (Tone::Dim, "stopped"),
            Self::Ended => (Tone::Dim, "ended"),
        };
        (tone, words.to_owned())
    }
}

/// What a notification tells.
enum Notice {
    Permission,
    Idle,
    Other,
}

impl Notice {
    /// Reads the kind from what the host sent: a record has no field for it.
    fn of(record: &Record) -> Self {
        let payload: Value = record
            .payload
            .as_ref()
            .and_then(|payload| serde_json::from_str(payload.as_text()).ok())
            .unwrap_or_default();
        let kind = ["notification_type", "kind"].iter().find_map(|key| payload.get(key)?.as_str());
        let kind = kind.or(record.native_name.as_deref()).unwrap_or_default().to_ascii_lowercase();
        if kind.contains("permission") {
            Self::Permission
        } else if kind.contains("idle") {
            Self::Idle
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhook_model::{Lost, Payload};

    use super::*;
    use crate::commands::top::examples::record;

    fn after(events: &[Record]) -> State {
        events.iter().fold(State::Working, State::after)
    }

    #[test]
    fn events_tell_what_an_agent_does() {
        for (event, expected) in [
            ("session_start", "working"),
            ("before_agent", "working"),
            ("before_tool", "running Shell"),
            ("after_tool", "working"),
            ("after_tool_failure", "working"),
            ("permission_request", "asks permission"),
            ("before_stop", "waits for you"),
            ("after_stop", "waits for you"),
            ("after_agent", "waits for you"),
            ("subagent_start", "working"),
            ("subagent_stop", "stopped"),
            ("pre_compact", "working"),
            ("session_end", "ended"),
        ] {
            let mut record = record(event);
            record.tool = Some("Shell".to_owned());
            let (_, words) = after(&[record]).words(SignedDuration::ZERO);
            assert_eq!(words, expected, "{event}");
        }
    }

    #[test]
    fn verdicts_count() {
        let decided = |event: &str, effect| {
            let mut record = record(event);
            record.tool = Some("Shell".to_owned());
            record.verdict.effect = Some(effect);
            after(&[record])
        };
        assert_eq!(decided("before_tool", Effect::Deny), State::Working);
        assert_eq!(decided("before_tool", Effect::Ask), State::Asks);
        assert_eq!(decided("before_tool", Effect::Allow), State::Running("Shell".to_owned()));
        assert_eq!(decided("before_stop", Effect::Deny), State::Working, "the gate holds");
        assert_eq!(decided("subagent_stop", Effect::Deny), State::Working);
        assert_eq!(
            decided("permission_request", Effect::Allow),
            State::Running("Shell".to_owned())
        );
        assert_eq!(decided("permission_request", Effect::Deny), State::Working);

        let mut turned_down = record("before_tool");
        turned_down.verdict.effect = Some(Effect::Ask);
        turned_down.lost =
            vec![Lost { what: "ask".to_owned(), instead: "deny: approve it".to_owned() }];
        assert_eq!(after(&[turned_down]), State::Working, "nobody could be asked");
    }

    #[test]
    fn a_notification_tells_its_kind_in_every_hosts_words() {
        let notification = |payload: &str, native: Option<&str>| {
            let mut record = record("notification");
            record.payload = Some(Payload::new(payload.as_bytes()));
            record.native_name = native.map(str::to_owned);
            after(&[record])
        };
        for payload in [
            r#"{"notification_type": "permission_prompt"}"#,
            r#"{"notification_type": "ToolPermission"}"#,
            r#"{"kind": "permission_prompt"}"#,
        ] {
            assert_eq!(notification(payload, Some("Notification")), State::Asks, "{payload}");
        }
        assert_eq!(notification("{}", Some("permission.asked")), State::Asks);
        assert_eq!(notification(r#"{"notification_type": "idle_prompt"}"#, None), State::Waits);
        assert_eq!(notification(r#"{"kind": 7}"#, None), State::Working);
        assert_eq!(notification("no JSON", None), State::Working);
    }

    #[test]
    fn what_tells_nothing_changes_nothing() {
        let running = State::Running("Shell".to_owned());
        assert_eq!(running.clone().after(&record("notification")), running);
        assert_eq!(running.clone().after(&record("SomethingNew")), running);
    }

    #[test]
    fn silence_makes_work_idle() {
        let words = |state: State, silent| state.words(silent).1;
        assert_eq!(words(State::Working, IDLE_AFTER), "idle");
        assert_eq!(words(State::Running("Shell".to_owned()), IDLE_AFTER), "idle");
        assert_eq!(words(State::Waits, IDLE_AFTER), "waits for you");
        assert_eq!(words(State::Asks, IDLE_AFTER), "asks permission");
    }
}
