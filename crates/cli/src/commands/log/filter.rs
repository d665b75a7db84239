//! The filter for journal records on the command line.

use anyhook_engine::journal::Journal;
use anyhook_engine::problem::nearest;
use anyhook_model::{EventKind, Record};
use anyhook_pages::search::{RecordSearch, VerdictWord};
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
        self.search(now).takes(record, journal)
    }

    /// Returns which records are asked for.
    pub fn search(&self, now: Timestamp) -> RecordSearch {
        RecordSearch {
            since: self.since.map(|since| since.moment(now)),
            until: self.until.map(|until| until.moment(now)),
            session: self.session.clone(),
            host: self.host.clone(),
            project: self.project.clone(),
            event: self.event.clone(),
            tool: self.tool.clone(),
            hook: self.hook.clone(),
            verdict: self.verdict.map(Verdicts::word),
            text: self.text.clone(),
        }
    }
}

impl Verdicts {
    fn word(self) -> VerdictWord {
        match self {
            Self::Deny => VerdictWord::Deny,
            Self::Ask => VerdictWord::Ask,
            Self::Allow => VerdictWord::Allow,
            Self::None => VerdictWord::None,
            Self::Capped => VerdictWord::Capped,
            Self::Failed => VerdictWord::Failed,
            Self::Changed => VerdictWord::Changed,
            Self::Context => VerdictWord::Context,
        }
    }
}
