//! How many calls there may be.

use std::collections::BTreeMap;

use anyhook_model::EventKind;
use regex::Regex;
use serde::{Deserialize, Serialize};

use super::{SESSIONS, day, refuse, warning_at};
use crate::answer::Answer;
use crate::event::Event;
use crate::options::{Action, GuardError};
use crate::{Place, kept};

const NAME: &str = "rate-limit";
const MINUTE: i64 = 60_000;
/// The name of the counter of all calls.
const ALL: &str = "";

/// How many calls there may be; absent or 0 is as many as you like.
#[expect(clippy::struct_field_names, reason = "they are the names of options")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Limits {
    per_minute: Option<u64>,
    per_session: Option<u64>,
    per_day: Option<u64>,
}

/// Options of the pack `rate-limit`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateOptions {
    per_minute: Option<u64>,
    per_session: Option<u64>,
    per_day: Option<u64>,
    tools: BTreeMap<String, Limits>,
    action: Action,
}

impl Default for RateOptions {
    fn default() -> Self {
        Self {
            per_minute: Some(120),
            per_session: Some(2000),
            per_day: None,
            tools: BTreeMap::new(),
            action: Action::Ask,
        }
    }
}

impl RateOptions {
    /// Returns the limits that apply to a tool, by the name of their counter.
    fn of_tool(&self, tool: &str) -> Result<Vec<(String, Limits)>, GuardError> {
        let (per_minute, per_session, per_day) = (self.per_minute, self.per_session, self.per_day);
        let mut found = vec![(ALL.to_owned(), Limits { per_minute, per_session, per_day })];
        for (name, limits) in &self.tools {
            let expression = Regex::new(&format!("^(?i:{name})$")).map_err(|_| {
                GuardError::Options(format!("`{name}` in `tools` is not a regular expression"))
            })?;
            if expression.is_match(tool) {
                found.push((name.clone(), *limits));
            }
        }
        Ok(found)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Counted {
    day: String,
    today: BTreeMap<String, u64>,
    sessions: BTreeMap<String, CountedSession>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct CountedSession {
    seen: i64,
    counters: BTreeMap<String, Counter>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Counter {
    all: u64,
    /// The times of the calls of the last minute, in milliseconds.
    recent: Vec<i64>,
}

/// What a limit counts, how many there were with this call, and how many there may be.
struct Figure {
    counter: String,
    span: &'static str,
    count: u64,
    limit: u64,
}

impl Figure {
    fn words(&self) -> String {
        let of = if self.counter == ALL { String::new() } else { format!(" of {}", self.counter) };
        let Self { span, limit, .. } = self;
        format!("{limit} calls{of} {span}")
    }
}

/// Returns the answer to an event.
pub fn decide(event: &Event, options: &RateOptions, place: &Place) -> Result<Answer, GuardError> {
    if event.kind != EventKind::BeforeTool {
        return Ok(Answer::none());
    }
    let limits = options.of_tool(event.tool())?;
    let (now, today) = (place.now.as_millisecond(), day(place));
    kept::change(place, NAME, |counted: &mut Counted| {
        counted.count(event.session(), &limits, options.action, now, &today)
    })
}

impl Counted {
    fn count(
        &mut self,
        session: &str,
        limits: &[(String, Limits)],
        action: Action,
        now: i64,
        today: &str,
    ) -> Answer {
        self.forget(session, today);
        let figures = self.figures(session, limits, now);
        let over = figures.iter().find(|figure| figure.count > figure.limit);
        if over.is_none() || action == Action::Ask {
            let of_session = self.sessions.entry(session.to_owned()).or_default();
            of_session.seen = now;
            for (name, _) in limits {
                *self.today.entry(name.clone()).or_default() += 1;
                let counter = of_session.counters.entry(name.clone()).or_default();
                counter.all += 1;
                counter.recent.retain(|at| now - at < MINUTE);
                counter.recent.push(now);
            }
        }
        if let Some(over) = over {
            let hint =
                if over.span == "per minute" { "; wait a minute, or" } else { "; a person can" };
            return refuse(
                action,
                format!(
                    "the limit of {} is reached{hint} raise it in the hook's HOOK.md",
                    over.words()
                ),
            );
        }
        let near = figures.iter().find(|figure| figure.count == warning_at(figure.limit));
        near.map_or_else(Answer::none, |near| {
            Answer::context(format!(
                "{} of {} are used; the limit comes soon. Prefer few, larger steps.",
                near.count,
                near.words()
            ))
        })
    }

    /// Returns what each limit says of one more call.
    fn figures(&self, session: &str, limits: &[(String, Limits)], now: i64) -> Vec<Figure> {
        let none = Counter::default();
        let mut figures = Vec::new();
        for (name, limits) in limits {
            let of_session = self.sessions.get(session);
            let counter = of_session.and_then(|one| one.counters.get(name)).unwrap_or(&none);
            let recent = counter.recent.iter().filter(|at| now - **at < MINUTE).count() as u64;
            let today = self.today.get(name).copied().unwrap_or_default();
            for (limit, span, count) in [
                (limits.per_minute, "per minute", recent),
                (limits.per_session, "per session", counter.all),
                (limits.per_day, "per day in this project", today),
            ] {
                let figure =
                    |limit| Figure { counter: name.clone(), span, count: count + 1, limit };
                figures.extend(limit.filter(|limit| *limit > 0).map(figure));
            }
        }
        figures
    }

    fn forget(&mut self, session: &str, today: &str) {
        if self.day != today {
            today.clone_into(&mut self.day);
            self.today.clear();
        }
        while self.sessions.len() >= SESSIONS && !self.sessions.contains_key(session) {
            let oldest = self.sessions.iter().min_by_key(|(_, one)| one.seen);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { break };
            self.sessions.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::options;
    use crate::sensitive::reason;

    struct Sample {
        state: tempfile::TempDir,
        options: Value,
    }

    impl Sample {
        fn new(options: Value) -> Self {
            Self { state: tempfile::tempdir().unwrap(), options }
        }

        fn call(&self, session: &str, tool: &str, second: i64) -> Answer {
            let place = Place {
                state: Some(self.state.path().to_owned()),
                now: jiff::Timestamp::from_second(second).unwrap(),
                ..Place::of_tests("/p")
            };
            let event =
                json!({"event_type": "before_tool", "session_id": session, "tool_name": tool});
            decide(&Event::new(event), &options::read(&self.options).unwrap(), &place).unwrap()
        }
    }

    #[test]
    fn zero_is_no_limit() {
        let sample = Sample::new(json!({"per_minute": 0, "per_session": 0, "action": "deny"}));
        assert!((0..200).all(|_| sample.call("s", "Shell", 0) == Answer::none()));
    }

    #[test]
    fn a_limit_per_session_warns_and_then_denies() {
        let sample = Sample::new(json!({"per_session": 5, "action": "deny"}));
        let said: Vec<Answer> = (0..7).map(|at| sample.call("s", "Shell", at)).collect();
        let warned = said[3].context.as_deref().unwrap();
        assert!(warned.starts_with("4 of 5 calls per session are used"), "{warned}");
        assert!([0, 1, 2, 4].iter().all(|at| said[*at] == Answer::none()));
        for denied in &said[5..] {
            assert!(
                denied.denied().unwrap().starts_with("the limit of 5 calls per session is reached")
            );
        }
        assert_eq!(sample.call("other", "Shell", 9), Answer::none());
    }

    #[test]
    fn a_minute_passes() {
        let sample = Sample::new(json!({"per_minute": 2, "action": "deny"}));
        assert!(sample.call("s", "Shell", 0).denied().is_none());
        assert!(sample.call("s", "Shell", 30).denied().is_none());
        assert!(sample.call("s", "Shell", 59).denied().is_some());
        assert!(sample.call("s", "Shell", 60).denied().is_none(), "a denied call does not count");
        assert!(sample.call("s", "Shell", 61).denied().is_some());
    }

    #[test]
    fn tools_have_limits_of_their_own_and_a_day_ends() {
        let sample = Sample::new(json!({"tools": {"mcp__.*|Mcp": {"per_day": 1}}}));
        assert_eq!(sample.call("a", "mcp__x__y", 10).decision, None);
        let asked = sample.call("b", "mcp__x__z", 20);
        assert!(
            reason(&asked).contains("1 calls of mcp__.*|Mcp per day in this project"),
            "{asked:?}"
        );
        assert_eq!(sample.call("b", "Shell", 20), Answer::none());
        assert_eq!(sample.call("b", "mcp__x__z", 86_400).decision, None);
    }

    #[test]
    fn a_wrong_expression_is_named() {
        let options: RateOptions = options::read(&json!({"tools": {"(": {}}})).unwrap();
        assert!(options.of_tool("x").unwrap_err().to_string().contains("`(` in `tools`"));
    }
}
