//! Interprets a hook's exit code and output as its decision.
//!
//! A script may speak the open format or an agent's own dialect ([`dialect`]). Three invariants: no
//! output can make the engine fail; an object that parses is not lost because other output is
//! broken; and what starts like JSON and does not parse, or means nothing to us, is a reported
//! failure, never a guess and never ignored.

pub mod dialect;
mod object;
#[cfg(test)]
mod tests;

use anyhook_model::json::shorten;
use anyhook_model::{Decision, Effect, EventKind, RunOutcome, StdoutUse};

use self::dialect::{KeyMeaning, ObjectAnswer, REASON_LIMIT, WORDS};
use crate::run::capture::CUT;

/// The result of one run: a decision, the reason it counts as a failure, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutput {
    /// The decision. With a failure it is what could be read next to what is broken: never an
    /// allow.
    pub decision: Decision,
    /// What to tell the person.
    pub told: Option<String>,
    /// Why the run counts as a failure, if it does.
    pub failure: Option<String>,
    /// Additional notes.
    pub notes: Vec<String>,
}

/// Reads what a finished run said.
pub fn interpret(
    name: &str,
    kind: &EventKind,
    stdout_use: StdoutUse,
    outcome: &RunOutcome,
    stdout: &str,
    stderr: &str,
) -> RunOutput {
    match outcome {
        RunOutcome::Exited(0) | RunOutcome::Leaked(0) => {
            let mut said = read_stdout(stdout, stdout_use, kind);
            give_reason(&mut said.decision, name);
            said
        }
        RunOutcome::Exited(2) | RunOutcome::Leaked(2) => {
            let reason = stderr.trim();
            let reason =
                if reason.is_empty() { usual_reason(name) } else { shorten(reason, REASON_LIMIT) };
            RunOutput { decision: Decision::deny(reason), ..RunOutput::default() }
        }
        RunOutcome::Detached | RunOutcome::Returned | RunOutcome::Declared => RunOutput::default(),
        other => {
            let mut why = other.to_string();
            if let Some(cause) = cause(stderr) {
                why = format!("{why}: {}", shorten(cause, 300));
            }
            RunOutput { failure: Some(why), ..RunOutput::default() }
        }
    }
}

/// Returns the most informative line of standard error: the last that names an error, since
/// programs say more after it (Node its version, others their location); without one, the last.
fn cause(stderr: &str) -> Option<&str> {
    let lines = || stderr.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let names_error = |line: &&str| {
        let is_frame = line.starts_with("at ") || line.starts_with("File \"");
        !is_frame
            && (line.contains("rror:") || line.contains("rror [") || line.contains("xception:"))
    };
    lines().find(names_error).or_else(|| lines().next())
}

/// Reads the standard output of a run that exited 0.
fn read_stdout(stdout: &str, stdout_use: StdoutUse, kind: &EventKind) -> RunOutput {
    let found = object::find(stdout);
    let mut denied = None;
    let mut last = None;
    let mut failures: Vec<String> = found.broken.into_iter().collect();
    for place in found.objects {
        let mut answer = dialect::read(place.fields, kind);
        if place.in_line && !answer.is_telling {
            // The program logs JSON.
            continue;
        }
        failures.extend(answer.failure.take());
        if answer.decision.effect == Some(Effect::Deny) {
            denied.get_or_insert(answer);
        } else {
            last = Some(answer);
        }
    }
    if denied.is_none() && last.is_none() && failures.is_empty() && may_be_cut(stdout) {
        failures.push("its output was truncated in the middle of a JSON object".to_owned());
    }
    if let Some(ObjectAnswer { decision, told, mut notes, .. }) = denied {
        notes.append(&mut failures);
        return RunOutput { decision, told, failure: None, notes };
    }
    let ObjectAnswer { mut decision, told, notes, .. } = last.unwrap_or_else(|| {
        let context = found.text.trim();
        let mut answer = ObjectAnswer::default();
        if stdout_use == StdoutUse::Context && !context.is_empty() && failures.is_empty() {
            answer.decision.additional_context = Some(context.to_owned());
        }
        answer
    });
    let failure = (!failures.is_empty()).then(|| failures.join("; "));
    if failure.is_some() && decision.effect == Some(Effect::Allow) {
        // The broken part may have been the objection.
        decision.effect = None;
        decision.reason = None;
    }
    RunOutput { decision, told, failure, notes }
}

/// Returns whether an object may have begun in the part of an output that was not kept.
fn may_be_cut(stdout: &str) -> bool {
    let Some((_, kept)) = stdout.split_once(CUT) else { return false };
    let decides =
        |meaning| matches!(meaning, KeyMeaning::Effect | KeyMeaning::GoesOn | KeyMeaning::Stops);
    let mut words = WORDS.iter().filter(|word| decides(word.meaning));
    words.any(|word| kept.contains(&format!("\"{}\"", word.key)))
}

/// Gives a denial without a reason the usual one.
pub(crate) fn give_reason(decision: &mut Decision, name: &str) {
    if decision.effect == Some(Effect::Deny) && decision.reason.is_none() {
        decision.reason = Some(usual_reason(name));
    }
}

fn usual_reason(name: &str) -> String {
    format!("blocked by hook {name}")
}
