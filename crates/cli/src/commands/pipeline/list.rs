//! `anyhook pipeline list` and `show`.

use anyhook_daemon::usage;
use anyhook_model::daemon::{DecisionView, Request, Response, Usage};
use anyhook_model::pipeline::PipelineView;
use anyhook_model::{ApprovalRequest, RecordId, exit_code};
use anyhook_socket::ClientError;

use super::{find, pipelines};
use crate::commands::CommandResult;
use crate::daemon::ask;
use crate::downtime;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::pages;
use crate::ui::{Out, Tone};

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
    out.lines("", &pages::pipeline::table(&pipelines, now, &environment.places))?;
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
    let now = anyhook_engine::now();
    let lines = pages::pipeline::lines(&pipeline, inquiry.as_ref(), now, &environment.places);
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
