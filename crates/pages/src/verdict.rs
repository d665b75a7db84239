//! Verdicts: what each hook said, and what follows from it.

use std::io;

use anyhook_model::{Effect, Record, RunOutcome, RunRecord, SkipReason, Verdict};
use anyhook_terminal::format::milliseconds;
use anyhook_terminal::{Cell, Out, StyledLine, Tone, first_line};

/// Returns a mark, a word and their tone for a hook's result.
pub fn hook_result(run: &RunRecord) -> (Tone, String) {
    if let Some(failure) = &run.failure {
        // Its cause may be at the end, and half of it is of no use.
        return (Tone::Warn, format!("failed: {}", first_line(failure, 1000)));
    }
    if run.outcome == Some(RunOutcome::Detached) {
        return (Tone::Dim, "runs in the background".to_owned());
    }
    let decision = &run.decision;
    let mut parts = Vec::new();
    if let Some(effect) = decision.effect {
        let reason =
            decision.reason.as_deref().map(|reason| format!(": {}", first_line(reason, 100)));
        parts.push(format!("{}{}", effect.word(), reason.unwrap_or_default()));
    }
    if decision.modified_input.is_some() {
        parts.push("changes the input".to_owned());
    }
    if decision.additional_context.is_some() {
        parts.push("adds context".to_owned());
    }
    let tone = match decision.effect {
        Some(Effect::Deny) => Tone::Bad,
        Some(Effect::Ask) => Tone::Warn,
        _ => Tone::Good,
    };
    if parts.is_empty() {
        return (Tone::Dim, "no opinion".to_owned());
    }
    (tone, parts.join(", "))
}

/// Returns whether a run decided the verdict: its reason is then shown with the verdict.
fn is_verdict(run: &RunRecord, verdict: &Verdict) -> bool {
    verdict.effect.is_some()
        && verdict.by.as_deref() == Some(run.hook.as_str())
        && !run.shadow
        && run.failure.is_none()
        && run.decision.effect == verdict.effect
}

/// Shows the result of each hook.
pub fn show_runs(runs: &[RunRecord], verdict: &Verdict, out: &mut Out) -> io::Result<()> {
    let rows: Vec<Vec<Cell>> = runs
        .iter()
        .map(|run| {
            let mut run = run.clone();
            if is_verdict(&run, verdict) {
                run.decision.reason = None;
            }
            let (tone, words) = hook_result(&run);
            let name = if run.shadow { format!("{} (shadow)", run.hook) } else { run.hook };
            vec![
                Cell::new(Tone::Plain, "  "),
                Cell::new(Tone::Strong, name),
                Cell::new(tone, words),
                Cell::new(Tone::Dim, milliseconds(run.took_us)),
            ]
        })
        .collect();
    out.table(&rows)
}

/// Shows the hooks that could have had a say if they had been fixed or trusted.
pub fn show_left_out(record: &Record, out: &mut Out) -> io::Result<()> {
    for skipped in &record.skipped {
        if matches!(skipped.why, SkipReason::Untrusted | SkipReason::Unusable(_)) {
            let why = skipped.why.to_string();
            out.line(&[
                (Tone::Warn, "    skipped: "),
                (Tone::Strong, &skipped.hook),
                (Tone::Plain, ", "),
                (Tone::Plain, &why),
            ])?;
        }
    }
    Ok(())
}

/// Shows the verdict, or that there is none because no hook was asked.
pub fn show_outcome(verdict: &Verdict, record: &Record, out: &mut Out) -> io::Result<()> {
    let mut lines = verdict_lines(verdict);
    let is_left_out =
        |why: &SkipReason| matches!(why, SkipReason::Untrusted | SkipReason::Unusable(_));
    let nobody_was_due =
        record.runs.is_empty() && !record.skipped.iter().any(|skipped| is_left_out(&skipped.why));
    if nobody_was_due && verdict.effect.is_none() && !verdict.capped {
        let mismatches = record.skipped.iter().filter(|skipped| skipped.why.is_mismatch()).count();
        let event = &record.event;
        let words = match mismatches + record.more_skipped {
            0 => format!("allowed: no hook runs at {event}"),
            many => {
                format!(
                    "allowed: no hook matched ({many} at {event} did not: anyhook explain {event} …)"
                )
            }
        };
        lines[0] = vec![(Tone::Good, words)];
    }
    out.lines("", &lines)
}

/// Formats a verdict for people.
pub fn verdict_lines(verdict: &Verdict) -> Vec<StyledLine> {
    let (tone, words) = match verdict.effect {
        Some(Effect::Deny) => (Tone::Bad, "blocked"),
        Some(Effect::Ask) => (Tone::Warn, "approval required"),
        None if verdict.capped => (Tone::Warn, "allowed (capped)"),
        Some(Effect::Allow) | None => (Tone::Good, "allowed"),
    };
    let by = verdict.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let reason = verdict.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let mut lines = vec![vec![(tone, words.to_owned()), (Tone::Strong, by), (Tone::Plain, reason)]];
    let mut field = |tone: Tone, name: &str, text: String| {
        lines.push(vec![(tone, name.to_owned()), (Tone::Plain, text)]);
    };
    if let Some(input) = &verdict.input {
        field(Tone::Hint, "input:   ", anyhook_model::json::to_spaced(input));
    }
    if let Some(context) = &verdict.context {
        field(Tone::Hint, "context: ", context.clone());
    }
    for warning in &verdict.warnings {
        field(Tone::Warn, "warning: ", warning.clone());
    }
    if let Some(id) = &verdict.id {
        lines.push(vec![(Tone::Dim, format!("details: anyhook log show {id}"))]);
    }
    lines
}
