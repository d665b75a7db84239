//! `anyhook pipeline list` and `show`.

use anyhook_model::daemon::{DecisionView, Request, Response, Usage};
use anyhook_model::pipeline::PipelineView;
use anyhook_model::{ApprovalRequest, RecordId, exit_code};
use anyhook_socket::ClientError;
use anyhook_terminal::states::{phase_tone, pipeline_reason};

use super::page::{WIDTH, lines};
use super::{find, pipelines};
use crate::commands::CommandResult;
use crate::commands::agent::age;
use crate::daemon::ask;
use crate::downtime;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::ui::{Cell, Out, Tone};
use crate::usage;

pub fn list(all: bool, json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let mut pipelines = pipelines(environment)?;
    downtime::tell(environment);
    if !all {
        pipelines.retain(|pipeline| !pipeline.phase.is_over());
    }
    if json {
        out.json(&pipelines)?;
        return Ok(exit_code::OK);
    }
    if pipelines.is_empty() {
        let more = " (use --all to include finished ones)";
        out.line(&[(Tone::Plain, "no active pipelines"), (Tone::Dim, more)])?;
        return Ok(exit_code::OK);
    }
    let now = anyhook_engine::now();
    let titles = ["pipeline", "name", "state", "step", "for", "project", "why"];
    let mut rows = vec![titles.map(|title| Cell::new(Tone::Dim, title)).to_vec()];
    for pipeline in &pipelines {
        rows.push(vec![
            Cell::new(Tone::Strong, pipeline.id.to_string()),
            Cell::new(Tone::Plain, pipeline.run_name.as_ref().unwrap_or(&pipeline.name)),
            Cell::new(phase_tone(pipeline.phase), pipeline.phase.name()),
            Cell::new(Tone::Plain, pipeline.step.clone().unwrap_or_default()),
            Cell::new(Tone::Plain, age(pipeline.created, pipeline.ended.unwrap_or(now))),
            Cell::new(Tone::Plain, shown(pipeline.project.as_ref(), &environment.places)),
            Cell::new(Tone::Plain, pipeline_reason(pipeline, WIDTH)),
        ]);
    }
    out.table(&rows)?;
    Ok(exit_code::OK)
}

pub fn show(id: &str, json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let mut pipeline = find(id, environment)?;
    pipeline.usage = usage_of(&pipeline, environment)?;
    if json {
        pipeline.daemon_down = downtime::news(environment);
        out.json(&pipeline)?;
        return Ok(exit_code::OK);
    }
    downtime::tell(environment);
    let inquiry = match &pipeline.decision {
        Some(decision) => inquiry(decision, environment)?,
        None => None,
    };
    let lines = lines(&pipeline, inquiry.as_ref(), anyhook_engine::now(), &environment.places);
    out.lines("", &lines)?;
    Ok(exit_code::OK)
}

/// Returns the usage that the transcripts of its agents report.
fn usage_of(
    pipeline: &PipelineView,
    environment: &Environment,
) -> Result<Option<Usage>, CommandError> {
    let names: Vec<&str> =
        pipeline.visits.iter().filter_map(|visit| visit.agent.as_deref()).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let Response::Agents(agents) = ask(environment, &Request::Agents)? else {
        return Err(ClientError::NoAnswer.into());
    };
    let ours = agents.iter().filter(|agent| names.contains(&agent.id.as_str()));
    Ok(ours.filter_map(usage::of_agent).reduce(Usage::plus))
}

/// Returns the approval request that the pipeline waits for.
fn inquiry(
    id: &RecordId,
    environment: &Environment,
) -> Result<Option<ApprovalRequest>, CommandError> {
    let Response::Decisions(decisions) = ask(environment, &Request::Decisions)? else {
        return Err(ClientError::NoAnswer.into());
    };
    let is_it = |view: &DecisionView| view.inquiry.id == *id;
    Ok(decisions.into_iter().find(is_it).map(|found| found.inquiry))
}
