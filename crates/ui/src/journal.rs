//! What is asked of the journal: parameters of an address, and the records that fit.

use std::time::Duration;

use anyhook_engine::journal::JournalPosition;
use anyhook_model::Record;
use anyhook_model::daemon::{PublishedEvent, Request, Response};
use anyhook_pages::record::Trace;
use anyhook_pages::search::{self, LookUp, RecordSearch, SearchStart, VerdictWord};
use anyhook_terminal::pattern::Pattern;
use anyhook_terminal::time_arg::TimeArg;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::app::{App, blocking};
use crate::error::PageError;
use crate::time_box::TimeBox;

/// Records on a page.
pub const PAGE: usize = 50;
/// More records are not returned at once.
pub const MOST: usize = 200;
/// How long a search may take; then it says from where to go on.
const SEARCH: Duration = Duration::from_secs(2);
/// How long it may take to find one record.
const LOOK_UP: Duration = Duration::from_secs(5);

/// Which records are asked for, as in an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordQuery {
    pub text: Option<String>,
    pub session: Option<String>,
    pub host: Option<String>,
    pub project: Option<String>,
    pub event: Option<String>,
    pub tool: Option<String>,
    pub hook: Option<String>,
    pub verdict: Option<String>,
    pub since: Option<String>,
    pub until: Option<String>,
    pub before: Option<String>,
    pub limit: Option<usize>,
}

/// A search, and what is wrong with its parameters.
#[derive(Debug, Default)]
pub struct ReadQuery {
    /// Which records.
    pub search: RecordSearch,
    /// Before which place.
    pub before: Option<JournalPosition>,
    /// Why some of the parameters do not count.
    pub problems: Vec<String>,
}

impl RecordQuery {
    /// Reads the parameters of a page's address. What is not known is a problem, and nothing is
    /// left out in silence.
    pub fn of_page(pairs: Vec<(String, String)>) -> (Self, Vec<String>) {
        let mut query = Self::default();
        let mut problems = Vec::new();
        for (name, value) in pairs {
            match query.field(&name) {
                Some(field) => *field = Some(value).filter(|value| !value.trim().is_empty()),
                None => problems.push(format!("there is no filter `{name}`")),
            }
        }
        (query, problems)
    }

    fn field(&mut self, name: &str) -> Option<&mut Option<String>> {
        Some(match name {
            "text" => &mut self.text,
            "session" => &mut self.session,
            "host" => &mut self.host,
            "project" => &mut self.project,
            "event" => &mut self.event,
            "tool" => &mut self.tool,
            "hook" => &mut self.hook,
            "verdict" => &mut self.verdict,
            "since" => &mut self.since,
            "until" => &mut self.until,
            "before" => &mut self.before,
            _ => return None,
        })
    }

    /// Returns the filters that are set, by name.
    pub fn set(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("text", &self.text),
            ("session", &self.session),
            ("host", &self.host),
            ("project", &self.project),
            ("event", &self.event),
            ("tool", &self.tool),
            ("hook", &self.hook),
            ("verdict", &self.verdict),
            ("since", &self.since),
            ("until", &self.until),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect()
    }

    /// Reads the values.
    pub fn read(&self, now: Timestamp) -> ReadQuery {
        let mut problems = Vec::new();
        let mut moment = |name: &str, value: &Option<String>| {
            let read: Result<TimeArg, String> = value.as_deref()?.trim().parse();
            match read {
                Ok(time) => Some(time.moment(now)),
                Err(why) => {
                    problems.push(format!("`{name}`: {why}"));
                    None
                }
            }
        };
        let since = moment("since", &self.since);
        let until = moment("until", &self.until);
        let verdict = self.verdict.as_deref().and_then(|word| {
            let found = VerdictWord::from_word(word.trim());
            if found.is_none() {
                problems.push(format!(
                    "there is no verdict `{word}`: it is one of {}",
                    VerdictWord::WORDS.join(", ")
                ));
            }
            found
        });
        let project = self.project.as_deref().filter(|it| !it.is_empty()).and_then(|project| {
            let read: Result<Pattern, String> = project.parse();
            read.map_err(|why| problems.push(format!("`project`: {why}"))).ok()
        });
        let before = self.before.as_deref().and_then(|before| {
            let found = search::position_from(before);
            if found.is_none() {
                problems.push(format!("`before` is no place in the journal: `{before}`"));
            }
            found
        });
        let text = |value: &Option<String>| value.as_deref().map(|value| value.trim().to_owned());
        let search = RecordSearch {
            since,
            until,
            session: text(&self.session),
            host: text(&self.host),
            project,
            event: text(&self.event),
            tool: text(&self.tool),
            hook: text(&self.hook),
            verdict,
            text: text(&self.text),
        };
        ReadQuery { search, before, problems }
    }
}

/// Records, and how to get older ones.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordPage {
    /// The records, the newest first. Long texts are in files; a single record has them in full.
    pub records: Vec<Record>,
    /// The value of `before` for older ones; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older: Option<String>,
    /// Whether the search took too long, and ended early: `older` goes on.
    pub is_cut: bool,
    /// When the oldest record was made that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub reached: Option<Timestamp>,
    /// How many lines were not records, of those that were read.
    pub damaged_lines: usize,
}

/// One record, and what belongs to it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordTrace {
    /// The record, with its long texts.
    pub record: Record,
    /// The first record of the same payload, which has the payload and the reply, if that is another
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Record>,
    /// How the hooks ended that ran in the background.
    pub later: Vec<Record>,
    /// What is not available any more.
    pub missing: Vec<String>,
    /// What the daemon made of it, if it is for the daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<PublishedEvent>,
}

/// Searches the journal.
pub async fn find(app: &App, query: ReadQuery, most: usize) -> Result<RecordPage, PageError> {
    let journal = app.journal();
    blocking(move || {
        let time = TimeBox::of(SEARCH);
        let ReadQuery { search, before, .. } = query;
        let start = before.as_ref().map_or(SearchStart::Newest, SearchStart::Before);
        let found = search::newest(&journal, &search, most, start, &|| time.is_open())
            .map_err(|error| PageError::unreadable(&error))?;
        Ok(RecordPage {
            records: found.records,
            older: found.older.as_ref().map(search::position_text),
            is_cut: found.is_cut,
            reached: found.reached,
            damaged_lines: found.damaged,
        })
    })
    .await
}

/// Returns one record with all that belongs to it.
pub async fn trace(app: &App, id: &str) -> Result<Trace, PageError> {
    let (journal, wanted) = (app.journal(), id.to_owned());
    let found = blocking(move || {
        let time = TimeBox::of(LOOK_UP);
        search::look_up(&journal, &wanted, &|| time.is_open())
            .map_err(|error| PageError::unreadable(&error))
    });
    match found.await? {
        LookUp::Found(trace) => {
            let mut trace = *trace;
            trace.heard = heard(app, &trace.record).await.map(Ok);
            Ok(trace)
        }
        LookUp::Nothing => Err(PageError::unknown("record", id).hint("anyhook log")),
        LookUp::Cut => Err(PageError::new(
            axum::http::StatusCode::SERVICE_UNAVAILABLE,
            "too_long",
            "the journal is too long to find this record in time",
        )
        .hint(format!("anyhook log show {}", shown_id(id)))),
    }
}

fn shown_id(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).take(40).collect()
}

/// Returns what the daemon made of a record that is for it.
async fn heard(app: &App, record: &Record) -> Option<Box<PublishedEvent>> {
    anyhook_hosts::bus_event::from_record(record)?;
    match app.ask(Request::EventOfRecord { record: record.id.clone() }).await {
        Ok(Response::EventOfRecord(told)) => told,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_page(pairs: &[(&str, &str)]) -> (RecordQuery, Vec<String>) {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        RecordQuery::of_page(pairs.collect())
    }

    #[test]
    fn empty_fields_of_a_form_are_no_filters() {
        let (query, problems) = of_page(&[("text", " "), ("host", "codex"), ("verdict", "")]);
        assert_eq!(problems, [] as [&str; 0]);
        assert_eq!(query.set(), [("host", "codex")]);
        let read = query.read(Timestamp::UNIX_EPOCH);
        assert_eq!((read.problems.len(), read.search.host.as_deref()), (0, Some("codex")));
    }

    #[test]
    fn every_unknown_value_is_told_and_kept() {
        let (query, unknown) = of_page(&[
            ("verdict", "perhaps"),
            ("since", "soon"),
            ("before", "x"),
            ("color", "red"),
        ]);
        assert_eq!(unknown, ["there is no filter `color`"]);
        let problems = query.read(Timestamp::UNIX_EPOCH).problems;
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems.iter().any(|one| one.contains("`perhaps`") && one.contains("deny")));
        assert_eq!(query.set(), [("verdict", "perhaps"), ("since", "soon")]);
    }
}
