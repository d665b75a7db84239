//! What a session and a project's day may cost: calls, minutes, tokens, money.
//!
//! Calls and minutes are counted here. Tokens come from the agent's transcript, read at most every
//! few seconds; money is tokens times the prices in the options. A figure that the agent does not
//! give is told once per session, and limits nothing.

use std::collections::BTreeMap;
use std::path::Path;

use anyhook_model::EventKind;
use anyhook_model::daemon::Usage;
use serde::{Deserialize, Serialize};

use super::{SESSIONS, day, refuse};
use crate::answer::Answer;
use crate::event::Event;
use crate::options::{Action, GuardError};
use crate::{Place, kept};

const NAME: &str = "budget";
/// A transcript is read again after this many milliseconds.
const READ_EVERY: i64 = 10_000;

/// What may be used; absent is as much as you like.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Limits {
    calls: Option<u64>,
    minutes: Option<u64>,
    tokens: Option<u64>,
    cost: Option<f64>,
}

/// Prices of a million tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Prices {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

/// Options of the pack `budget`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetOptions {
    session: Limits,
    day: Limits,
    prices: Option<Prices>,
    action: Action,
}

impl Default for BudgetOptions {
    fn default() -> Self {
        let session = Limits { calls: Some(1000), tokens: Some(2_000_000), ..Limits::default() };
        Self { session, day: Limits::default(), prices: None, action: Action::Ask }
    }
}

impl BudgetOptions {
    fn needs_tokens(&self) -> bool {
        [self.session, self.day].iter().any(|one| one.tokens.is_some() || one.cost.is_some())
    }

    fn check(&self) -> Result<(), GuardError> {
        let has_cost = self.session.cost.is_some() || self.day.cost.is_some();
        if has_cost && self.prices.is_none() {
            return Err(GuardError::Options(
                "`cost` needs `prices`, per million tokens".to_owned(),
            ));
        }
        Ok(())
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Spent {
    sessions: BTreeMap<String, SpentSession>,
}

/// What a session has used: in all, and before today.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct SpentSession {
    day: String,
    first: i64,
    first_today: i64,
    last: i64,
    calls: u64,
    calls_before: u64,
    usage: Option<Usage>,
    usage_before: Option<Usage>,
    read_at: i64,
    is_told: bool,
    warned: Vec<String>,
}

/// What was used.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    calls: u64,
    milliseconds: i64,
    tokens: u64,
    cost: f64,
}

/// Returns the answer to an event.
pub fn decide(event: &Event, options: &BudgetOptions, place: &Place) -> Result<Answer, GuardError> {
    options.check()?;
    let is_call = event.kind == EventKind::BeforeTool;
    if !is_call && event.kind != EventKind::BeforeAgent {
        return Ok(Answer::none());
    }
    let usage = read_usage(event, options, place)?;
    let (now, today) = (place.now.as_millisecond(), day(place));
    kept::change(place, NAME, |spent: &mut Spent| {
        if let Some(usage) = usage {
            spent.session(event.session(), now, &today).usage = Some(usage);
        }
        spent.answer(event.session(), is_call, options, place, &today)
    })
}

/// Reads the agent's transcript, unless that was done a moment ago.
fn read_usage(
    event: &Event,
    options: &BudgetOptions,
    place: &Place,
) -> Result<Option<Usage>, GuardError> {
    if !options.needs_tokens() {
        return Ok(None);
    }
    let (now, today) = (place.now.as_millisecond(), day(place));
    let is_due = kept::change(place, NAME, |spent: &mut Spent| {
        let session = spent.session(event.session(), now, &today);
        let is_due = session.read_at == 0 || now - session.read_at >= READ_EVERY;
        if is_due {
            session.read_at = now;
        }
        is_due
    })?;
    let transcript = event.text("transcript_path");
    let transcript = (!transcript.is_empty()).then(|| Path::new(transcript));
    Ok(if is_due { (place.usage)(&place.host, transcript, event.session()) } else { None })
}

impl Spent {
    /// Returns a session; a new day begins with what was used before.
    fn session(&mut self, id: &str, now: i64, today: &str) -> &mut SpentSession {
        while self.sessions.len() >= SESSIONS && !self.sessions.contains_key(id) {
            let oldest = self.sessions.iter().min_by_key(|(_, one)| one.last);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { break };
            self.sessions.remove(&oldest);
        }
        let session = self.sessions.entry(id.to_owned()).or_default();
        if session.first == 0 {
            session.first = now;
        }
        if session.day != today {
            today.clone_into(&mut session.day);
            session.first_today = now;
            session.calls_before = session.calls;
            session.usage_before = session.usage;
            session.warned.retain(|one| one.starts_with("session"));
        }
        session.last = now;
        session
    }

    fn answer(
        &mut self,
        id: &str,
        is_call: bool,
        options: &BudgetOptions,
        place: &Place,
        today: &str,
    ) -> Answer {
        let now = place.now.as_millisecond();
        let prices = options.prices.unwrap_or_default();
        let session = self.session(id, now, today);
        session.calls += u64::from(is_call);
        let of_session = session.figures(&prices);
        let is_unknown = options.needs_tokens() && session.usage.is_none();
        let today = self.sessions.values().filter(|one| one.day == today);
        let of_day =
            today.map(|one| one.figures_of_day(&prices)).fold(Figures::default(), Figures::plus);
        let spans = [("session", of_session, options.session), ("day", of_day, options.day)];
        let shares: Vec<Share> =
            spans.into_iter().flat_map(|(span, used, limits)| shares(span, used, limits)).collect();
        let session = self.session(id, now, &day(place));
        if let Some(over) = shares.iter().find(|share| share.is_over()) {
            if is_call && options.action == Action::Deny {
                session.calls -= 1;
            }
            let reason = format!(
                "the budget is used up: {}; a person can raise it in the hook's HOOK.md",
                over.words
            );
            // A prompt cannot be asked about.
            return match (is_call, options.action) {
                (false, Action::Ask) => Answer::context(reason),
                (_, action) => refuse(action, reason),
            };
        }
        let mut lines = Vec::new();
        for near in shares.iter().filter(|share| share.is_near()) {
            if !session.warned.contains(&near.name) {
                session.warned.push(near.name.clone());
                lines.push(format!("Most of the budget is used: {}.", near.words));
            }
        }
        if is_unknown && is_call && !session.is_told {
            session.is_told = true;
            lines.push(format!(
                "The budget of tokens cannot be checked: {} does not say what this session uses.",
                place.host
            ));
        }
        if lines.is_empty() { Answer::none() } else { Answer::context(lines.join("\n")) }
    }
}

impl SpentSession {
    fn figures(&self, prices: &Prices) -> Figures {
        let usage = self.usage.unwrap_or_default();
        Figures {
            calls: self.calls,
            milliseconds: self.last - self.first,
            tokens: tokens(usage),
            cost: cost(usage, prices),
        }
    }

    fn figures_of_day(&self, prices: &Prices) -> Figures {
        let (usage, before) =
            (self.usage.unwrap_or_default(), self.usage_before.unwrap_or_default());
        Figures {
            calls: self.calls - self.calls_before.min(self.calls),
            milliseconds: self.last - self.first_today,
            tokens: tokens(usage).saturating_sub(tokens(before)),
            cost: cost(usage, prices) - cost(before, prices),
        }
    }
}

impl Figures {
    fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            milliseconds: self.milliseconds + other.milliseconds,
            tokens: self.tokens + other.tokens,
            cost: self.cost + other.cost,
        }
    }
}

/// A limit and what is used of it.
struct Share {
    name: String,
    words: String,
    used: f64,
    limit: f64,
    /// Whether exactly the limit may be used.
    is_inclusive: bool,
}

impl Share {
    fn is_over(&self) -> bool {
        self.used > self.limit || !self.is_inclusive && self.used >= self.limit
    }

    fn is_near(&self) -> bool {
        self.used >= self.limit * 0.8
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of a budget need not be exact to the unit")]
fn shares(span: &str, used: Figures, limits: Limits) -> Vec<Share> {
    let of = if span == "day" { "today in this project" } else { "in this session" };
    let minutes = used.milliseconds / 60_000;
    let whole = |what: &str, used: u64, limit: Option<u64>, is_inclusive| {
        limit.map(|limit| Share {
            name: format!("{span} {what}"),
            words: format!("{} of {limit} {what} {of}", used.min(limit.max(used))),
            used: used as f64,
            limit: limit as f64,
            is_inclusive,
        })
    };
    let cost = limits.cost.map(|limit| Share {
        name: format!("{span} cost"),
        words: format!("a cost of {:.2} of {limit:.2} {of}", used.cost),
        used: used.cost,
        limit,
        is_inclusive: false,
    });
    [
        whole("calls", used.calls, limits.calls, true),
        whole("minutes", u64::try_from(minutes).unwrap_or(0), limits.minutes, false),
        whole("tokens", used.tokens, limits.tokens, false),
        cost,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns what a use of tokens costs, by the prices in the options of a pack's hook; `None` if there
/// are none.
pub fn cost_by_options(options: &serde_json::Value, usage: Usage) -> Option<f64> {
    let options: BudgetOptions = crate::options::read(options).ok()?;
    options.prices.map(|prices| cost(usage, &prices))
}

/// Returns what counts as tokens: all but those read from the model's cache.
fn tokens(usage: Usage) -> u64 {
    let counts = [usage.input_tokens, usage.output_tokens, usage.cache_write_tokens];
    counts.into_iter().flatten().sum()
}

#[expect(clippy::cast_precision_loss, reason = "a cost need not be exact to the token")]
fn cost(usage: Usage, prices: &Prices) -> f64 {
    let of = |tokens: Option<u64>, price: f64| tokens.unwrap_or(0) as f64 * price / 1_000_000.0;
    of(usage.input_tokens, prices.input)
        + of(usage.output_tokens, prices.output)
        + of(usage.cache_read_tokens, prices.cache_read)
        + of(usage.cache_write_tokens, prices.cache_write)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::options;

    #[test]
    fn a_cost_needs_prices() {
        let usage = Usage {
            input_tokens: Some(2_000_000),
            output_tokens: Some(1_000_000),
            ..Usage::default()
        };
        let prices = json!({"prices": {"input": 3, "output": 15}, "day": {}});
        let cost = cost_by_options(&prices, usage).unwrap();
        assert!((cost - 21.0).abs() < 1e-9, "{cost}");
        assert_eq!(cost_by_options(&json!({"session": {"calls": 1}}), usage), None);
        assert_eq!(cost_by_options(&Value::Null, usage), None);
        assert_eq!(cost_by_options(&json!({"misspelled": 1}), usage), None);
    }
    use crate::sensitive::reason;

    struct Sample {
        state: tempfile::TempDir,
        options: Value,
    }

    /// The transcript's name is the number of tokens.
    fn usage(_: &str, transcript: Option<&Path>, _: &str) -> Option<Usage> {
        let tokens: u64 = transcript?.to_str()?.parse().ok()?;
        Some(Usage { input_tokens: Some(tokens), output_tokens: Some(tokens), ..Usage::default() })
    }

    impl Sample {
        fn new(options: Value) -> Self {
            Self { state: tempfile::tempdir().unwrap(), options }
        }

        fn event(&self, kind: &str, session: &str, second: i64, tokens: Option<u64>) -> Answer {
            let place = Place {
                state: Some(self.state.path().to_owned()),
                now: jiff::Timestamp::from_second(second).unwrap(),
                usage,
                ..Place::of_tests("/p")
            };
            let mut event =
                json!({"event_type": kind, "session_id": session, "tool_name": "Shell"});
            if let Some(tokens) = tokens {
                event["transcript_path"] = json!(tokens.to_string());
            }
            decide(&Event::new(event), &options::read(&self.options).unwrap(), &place).unwrap()
        }
    }

    #[test]
    fn tokens_warn_and_then_stop() {
        let sample = Sample::new(json!({"session": {"tokens": 1000}, "action": "deny"}));
        assert_eq!(sample.event("before_tool", "s", 100, Some(100)), Answer::none());
        assert_eq!(
            sample.event("before_tool", "s", 105, Some(900)),
            Answer::none(),
            "not read yet"
        );
        let warned = sample.event("before_tool", "s", 110, Some(400)).context.unwrap();
        assert_eq!(warned, "Most of the budget is used: 800 of 1000 tokens in this session.");
        assert_eq!(sample.event("before_tool", "s", 111, Some(400)), Answer::none(), "told once");
        let denied = sample.event("before_tool", "s", 120, Some(600));
        assert!(denied.denied().unwrap().contains("1200 of 1000 tokens in this session"));
        assert!(sample.event("before_agent", "s", 121, None).denied().is_some());
    }

    #[test]
    fn a_day_is_the_sum_of_its_sessions() {
        let prices = json!({"input": 1.0, "output": 4.0});
        let sample = Sample::new(json!({"session": {}, "day": {"cost": 10.0}, "prices": prices}));
        let million = 1_000_000;
        assert_eq!(sample.event("before_tool", "a", 100, Some(million)), Answer::none());
        let asked = sample.event("before_tool", "b", 200, Some(million));
        assert!(
            reason(&asked).contains("a cost of 10.00 of 10.00 today in this project"),
            "{asked:?}"
        );
        let next = sample.event("before_tool", "b", 86_500, Some(million));
        assert_eq!(next, Answer::none(), "what was used before does not count today");
    }

    #[test]
    fn calls_and_minutes() {
        let sample = Sample::new(json!({"session": {"calls": 2, "minutes": 10}, "action": "deny"}));
        let calls: Vec<bool> = (100..104)
            .map(|at| sample.event("before_tool", "s", at, None).denied().is_some())
            .collect();
        assert_eq!(calls, [false, false, true, true]);
        assert!(sample.event("before_tool", "t", 100, None).denied().is_none());
        let late = sample.event("before_tool", "t", 700, None);
        assert!(late.denied().unwrap().contains("10 of 10 minutes in this session"));
    }

    #[test]
    fn what_an_agent_does_not_say_is_told_once() {
        let sample = Sample::new(json!({"session": {"tokens": 10}}));
        let told = sample.event("before_tool", "s", 100, None).context.unwrap();
        assert!(told.contains("agent-hooks does not say"), "{told}");
        assert_eq!(sample.event("before_tool", "s", 120, None), Answer::none());
        let options: BudgetOptions = options::read(&json!({"day": {"cost": 1.0}})).unwrap();
        assert!(options.check().unwrap_err().to_string().contains("`cost` needs `prices`"));
    }
}
