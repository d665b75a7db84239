//! The filter for shown records.

use anyhook_model::Record;

use crate::sessions::SessionKey;
use anyhook_terminal::Tone;

/// The filter for shown records.
#[derive(Debug, Default)]
pub struct ViewFilter {
    /// Which outcomes are shown.
    pub only: OutcomeFilter,
    /// The session they belong to.
    pub session: Option<SessionKey>,
    /// A text that they contain, ignoring case.
    pub text: String,
}

/// Which outcomes are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutcomeFilter {
    /// All.
    #[default]
    All,
    /// What was denied, and what ran nevertheless.
    Denials,
    /// Events with a hook that failed.
    Failures,
}

impl ViewFilter {
    /// Returns whether a record is shown.
    pub fn takes(&self, record: &Record) -> bool {
        let outcome = match self.only {
            OutcomeFilter::All => true,
            OutcomeFilter::Denials => record.denies() || record.denied_by.is_some(),
            OutcomeFilter::Failures => record.runs.iter().any(|run| run.failure.is_some()),
        };
        outcome
            && self.session.as_ref().is_none_or(|session| *session == SessionKey::of(record))
            && (self.text.is_empty() || stands_in(&self.text.to_lowercase(), record))
    }

    /// Returns whether everything is shown.
    pub fn is_open(&self) -> bool {
        self.only == OutcomeFilter::All && self.session.is_none() && self.text.is_empty()
    }

    /// Returns the description of the filter.
    pub fn words(&self) -> Vec<(Tone, String)> {
        let only = match self.only {
            OutcomeFilter::All => None,
            OutcomeFilter::Denials => Some("only denials".to_owned()),
            OutcomeFilter::Failures => Some("only failures".to_owned()),
        };
        let session = self.session.as_ref().map(|session| {
            let id = session.id.as_deref().map(short).unwrap_or_default();
            format!("session {} {id}", session.host).trim_end().to_owned()
        });
        let text = (!self.text.is_empty()).then(|| format!("/{}", self.text));
        [only, session, text].into_iter().flatten().map(|words| (Tone::Warn, words)).collect()
    }
}

/// Searches for a text in lower case in the fields that a person would expect.
fn stands_in(text: &str, record: &Record) -> bool {
    let fields = [
        Some(record.host.as_str()),
        record.session.as_deref(),
        record.agent.as_deref(),
        record.tool.as_deref(),
        record.about.as_deref(),
        record.verdict.reason.as_deref(),
        record.project_dir.as_deref(),
        Some(record.work_dir.as_str()),
        Some(record.id.as_str()),
        Some(record.verdict.word()),
    ];
    let event = record.event.to_string();
    let hooks = record.runs.iter().map(|run| run.hook.as_str());
    let mut texts = fields.into_iter().flatten().chain([event.as_str()]).chain(hooks);
    texts.any(|field| field.to_lowercase().contains(text))
}

/// Returns a short id that still distinguishes sessions: many start with the time.
pub fn short(id: &str) -> String {
    let letters: Vec<char> = id.chars().collect();
    if letters.len() <= 12 {
        return id.to_owned();
    }
    let (head, tail) = (&letters[..7], &letters[letters.len() - 4..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use anyhook_model::{Effect, RecordId};

    use super::*;
    use crate::examples::{record, run};

    #[test]
    fn a_text_is_found_in_any_case_where_people_look() {
        let mut record = record("before_tool");
        record.tool = Some("Shell".to_owned());
        record.about = Some("git push --force".to_owned());
        record.runs = vec![run("guard-push", 1)];
        record.verdict.effect = Some(Effect::Deny);
        record.verdict.reason = Some("Not on Fridays".to_owned());
        let takes = |text: &str| {
            ViewFilter { text: text.to_owned(), ..ViewFilter::default() }.takes(&record)
        };
        for text in ["codex", "PUSH --", "shell", "guard", "fridays", "before_", "deny", "7k2m"] {
            assert!(takes(text), "{text}");
        }
        assert!(!takes("elsewhere"));
    }

    #[test]
    fn denials_failures_and_sessions() {
        let plain = record("before_tool");
        let mut denied = plain.clone();
        denied.verdict.effect = Some(Effect::Deny);
        let mut ran = plain.clone();
        ran.denied_by = Some(RecordId::from_text("aaaaaaaa"));
        let mut failed = plain.clone();
        failed.runs = vec![run("a", 1)];
        failed.runs[0].failure = Some("exit 1".to_owned());
        let mut other = plain.clone();
        other.session = Some("two".to_owned());
        let all = [&plain, &denied, &ran, &failed, &other];
        let taken = |filter: ViewFilter| all.map(|record| u8::from(filter.takes(record)));
        assert_eq!(taken(ViewFilter::default()), [1, 1, 1, 1, 1]);
        assert_eq!(
            taken(ViewFilter { only: OutcomeFilter::Denials, ..ViewFilter::default() }),
            [0, 1, 1, 0, 0]
        );
        assert_eq!(
            taken(ViewFilter { only: OutcomeFilter::Failures, ..ViewFilter::default() }),
            [0, 0, 0, 1, 0]
        );
        let session = Some(SessionKey::of(&plain));
        assert_eq!(taken(ViewFilter { session, ..ViewFilter::default() }), [1, 1, 1, 1, 0]);
    }

    #[test]
    fn a_short_id_keeps_both_ends() {
        assert_eq!(short("one"), "one");
        assert_eq!(short("019a8b2c-1111-7222-8333-abcdefabf3d1"), "019a8b2…f3d1");
    }
}
