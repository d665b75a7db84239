//! The filter for journal records on the command line.

use anyhook_engine::journal::Journal;
use anyhook_engine::problem::nearest;
use anyhook_model::json::any_leaf;
use anyhook_model::{EventKind, Record};
use clap::Args;
use jiff::Timestamp;

use crate::pattern::Pattern;
use crate::time_arg::TimeArg;
use crate::ui::{Out, Tone};

/// Which records are shown: those that fit all of these.
#[derive(Args, Default)]
pub struct RecordFilter {
    /// Records since then: 30m, 2h, 7d ago, 2026-01-31, 2026-01-31T09:00, or 2026-01-31T09:00:00Z
    #[arg(long, value_name = "T")]
    pub since: Option<TimeArg>,
    /// Records until, in the same formats
    #[arg(long, value_name = "T")]
    pub until: Option<TimeArg>,
    /// Records of this session; the start of its id is enough
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Records of this agent, such as claude-code
    #[arg(long, value_name = "H")]
    pub host: Option<String>,
    /// Records of this project: its path or folder name; `*` matches anything
    #[arg(long, value_name = "PATTERN")]
    pub project: Option<Pattern>,
    /// Records of this event, in either spelling
    #[arg(long, value_name = "E")]
    pub event: Option<String>,
    /// Records of this tool, such as Shell
    #[arg(long, value_name = "T")]
    pub tool: Option<String>,
    /// Records involving this hook
    #[arg(long, value_name = "NAME")]
    pub hook: Option<String>,
    /// Records with this verdict: deny, ask, allow, none, capped; failed for a failed hook, changed and
    /// context for what hooks changed or added
    #[arg(long, value_name = "WORD")]
    pub verdict: Option<Verdicts>,
    /// Records containing this text, ignoring case, in the payload, a reason or an output
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
}

/// A verdict, or something else that hooks did.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Verdicts {
    #[value(alias = "block")]
    Deny,
    Ask,
    Allow,
    None,
    Capped,
    Failed,
    Changed,
    Context,
}

impl RecordFilter {
    /// Prints a hint if an event was asked for that no agent is likely to send.
    pub fn hint(&self, out: &mut Out) -> std::io::Result<()> {
        let Some(event) =
            self.event.as_deref().filter(|name| EventKind::in_any_spelling(name).is_none())
        else {
            return Ok(());
        };
        match nearest(event, EventKind::all_names()) {
            Some(near) => {
                let text = format!("did you mean `--event {near}`?");
                out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &text)])
            }
            None => Ok(()),
        }
    }

    /// Returns whether a record matches; long texts are looked up in `journal`.
    pub fn takes(&self, record: &Record, now: Timestamp, journal: &Journal) -> bool {
        let is = |asked: &Option<String>, told: Option<&str>| {
            asked.as_deref().is_none_or(|asked| told == Some(asked))
        };
        let verdict = |word: &Verdicts| match word {
            // Also an `ask` that could not be answered by anyone.
            Verdicts::Deny => record.denies(),
            Verdicts::Ask => record.verdict.word() == "ask",
            Verdicts::Allow => record.verdict.word() == "allow",
            Verdicts::None => record.verdict.word() == "none",
            Verdicts::Capped => record.verdict.capped,
            Verdicts::Changed => record.verdict.input.is_some(),
            Verdicts::Context => record.verdict.context.is_some(),
            Verdicts::Failed => record.runs.iter().any(|run| run.failure.is_some()),
        };
        let begins =
            |session: &str| record.session.as_deref().is_some_and(|told| told.starts_with(session));
        self.since.is_none_or(|since| record.at >= since.moment(now))
            && self.until.is_none_or(|until| record.at <= until.moment(now))
            && self.session.as_deref().is_none_or(begins)
            && is(&self.host, Some(&record.host))
            && self.project.as_ref().is_none_or(|wanted| {
                wanted.matches_path(record.project_dir.as_ref().unwrap_or(&record.work_dir))
            })
            && is(&self.tool, record.tool.as_deref())
            && self.event.as_ref().is_none_or(|event| {
                let kind = EventKind::in_any_spelling(event);
                record.event == kind.map_or_else(|| EventKind::from_name(event), |(kind, _)| kind)
            })
            && self.hook.as_ref().is_none_or(|hook| record.runs.iter().any(|run| run.hook == *hook))
            && self.verdict.as_ref().is_none_or(verdict)
            && self.text.as_ref().is_none_or(|text| {
                let text = text.to_lowercase();
                let in_long =
                    || journal.restored(record.clone()).is_ok_and(|it| contains(&it, &text));
                contains(record, &text) || !record.long.is_empty() && in_long()
            })
    }
}

/// Returns whether any value of a record contains a text.
fn contains(record: &Record, text: &str) -> bool {
    serde_json::to_value(record)
        .is_ok_and(|value| any_leaf(&value, &mut |leaf| leaf.to_lowercase().contains(text)))
}
