//! Runs hooks without side effects: on past events, and on their test cases.
//!
//! - `journal_replay` and `source`: what a journal or a transcript still knows of an event;
//! - `isolate`: a sandbox in which nothing real can be changed; `sandbox_run`: the hooks run in it;
//! - `compare`: the verdicts of the replay against the original ones;
//! - `cases`: the cases in a hook's `tests` folder;
//! - `learn`: hooks that past events suggest.

pub mod cases;
mod compare;
pub mod isolate;
pub mod journal_replay;
pub mod learn;
pub mod page;
mod sandbox_run;
pub mod source;

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use anyhook_engine::Hook;
use anyhook_hook::environment::Environment;
use anyhook_model::report::ReplayReport;

use crate::isolate::IsolationOptions;
use crate::source::{PastEvent, PastEvents};

/// Why hooks could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The journal cannot be read.
    #[error("cannot read `{}`: {cause}", folder.display())]
    Journal {
        /// Where it is.
        folder: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// A transcript cannot be read.
    #[error("`{}` cannot be read: {cause}", path.display())]
    UnreadableTranscript {
        /// Where it is.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
        /// Where transcripts are.
        place: &'static str,
    },
    /// A transcript has no events.
    #[error("`{}`: {why}", path.display())]
    EmptyTranscript {
        /// Where it is.
        path: PathBuf,
        /// The reason.
        why: String,
        /// Where transcripts are.
        place: &'static str,
    },
    /// No known agent writes transcripts that can be read.
    #[error("no agent with readable transcripts is supported")]
    NoTranscripts,
    /// Sandboxes are not available on this machine.
    #[error("cannot sandbox the replay on this machine: {0}")]
    NotProtected(String),
    /// A case names a file outside its scratch project.
    #[error("`{0}` points outside the scratch project")]
    LeadsOut(String),
    /// A file or folder of a case cannot be used.
    #[error("cannot access `{}`: {cause}", path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// A scratch folder cannot be created, or a program cannot be started.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs hooks on past events, several payloads in parallel, and compares. `progress` is called with
/// the number of payloads processed.
pub fn replay(
    hooks: Vec<Hook>,
    past: PastEvents,
    leave: IsolationOptions,
    jobs: usize,
    environment: &Environment,
    progress: &mut dyn FnMut(u64),
) -> Result<ReplayReport, ReplayError> {
    let PastEvents { payloads, gone, problems } = past;
    let mut report = ReplayReport {
        hooks: hooks.iter().map(|hook| hook.name().to_owned()).collect(),
        network_cut: !leave.network,
        files_protected: !leave.all,
        gone,
        problems,
        ..ReplayReport::default()
    };
    let names: HashSet<String> = report.hooks.iter().cloned().collect();
    let judge = |item: &PastEvent, finished: &_| compare::judge(item, finished, &names);
    let tried = sandbox_run::all(hooks, &payloads, jobs, environment, progress, judge)?;
    for (payload, judged) in payloads.iter().zip(&tried) {
        report.gone += if judged.is_none() { payload.count() } else { 0 };
    }
    compare::sum_up(tried.into_iter().flatten().flatten(), &mut report);
    Ok(report)
}
