//! `anyhook pipeline wait`, and `run --wait`.

use std::time::{Duration, Instant};

use anyhook_engine::wait::try_poll;
use anyhook_model::exit_code;
use anyhook_model::pipeline::{PipelinePhase, PipelineView};
use anyhook_terminal::states::phase_tone;

use super::logs::{LogPrinter, follow};
use super::{LOOK_EVERY, find};
use crate::commands::CommandResult;
use crate::environment::{Environment, terminal_width};
use crate::error::CommandError;
use crate::progress::WaitNotice;
use crate::time_arg::TimeArg;
use crate::ui::{Out, Tone};

/// Reads how long to wait.
pub fn limit(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(TimeArg::Ago(long)) => Duration::try_from(long).map_err(|error| error.to_string()),
        _ => Err("expected a duration such as 30s, 10m or 2h".to_owned()),
    }
}

/// Waits until all pipelines have ended.
pub fn run(
    ids: &[String],
    timeout: Option<Duration>,
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let until = timeout.map(|timeout| Instant::now() + timeout);
    // The pipelines are selected once, whatever starts later.
    let meant: Result<Vec<String>, CommandError> =
        ids.iter().map(|id| Ok(find(id, environment)?.id.to_string())).collect();
    let meant = meant?;
    let mut waiting = WaitNotice::new(terminal_width);
    let views = try_poll(LOOK_EVERY, || {
        let views: Result<Vec<PipelineView>, CommandError> =
            meant.iter().map(|id| find(id, environment)).collect();
        let views = views?;
        let Some(open) = views.iter().find(|view| !view.phase.is_over()) else {
            return Ok(Some(views));
        };
        if until.is_some_and(|until| Instant::now() > until) {
            let why = format!("pipeline {} did not finish in time", open.id);
            let hint = format!("anyhook pipeline show {}", open.id);
            return Err(CommandError::problem(why).hint(hint));
        }
        waiting.say(&state(open));
        Ok(None)
    })?;
    drop(waiting);
    tell(&views, json, out)
}

/// Returns which pipeline is waited for, and its current step.
fn state(pipeline: &PipelineView) -> String {
    let name = pipeline.run_name.as_ref().unwrap_or(&pipeline.name);
    let step = pipeline.visits.last().map(|visit| format!(" at {}", visit.step));
    let decision = pipeline.decision.as_ref().map(|id| format!(", for decision {id}"));
    format!(
        "pipeline {} ({name}) is {}{}{}",
        pipeline.id,
        pipeline.phase.name(),
        step.unwrap_or_default(),
        decision.unwrap_or_default()
    )
}

/// Shows what happens to a pipeline until it ends.
pub fn watch(id: &str, json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let mut shower = LogPrinter::new(None, false);
    if json {
        return run(&[id.to_owned()], None, json, environment, out);
    }
    let view = follow(id, true, &mut shower, environment, out)?;
    tell(&[view], json, out)
}

fn tell(views: &[PipelineView], json: bool, out: &mut Out) -> CommandResult {
    if json {
        out.json(&views)?;
    } else {
        for view in views {
            let id = view.id.to_string();
            let why = view.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            out.line(&[
                (Tone::Strong, &id),
                (Tone::Plain, " "),
                (phase_tone(view.phase), view.phase.name()),
                (Tone::Plain, &why),
            ])?;
        }
    }
    let all_completed = views.iter().all(|view| view.phase == PipelinePhase::Completed);
    Ok(if all_completed { exit_code::OK } else { exit_code::PROBLEM })
}
