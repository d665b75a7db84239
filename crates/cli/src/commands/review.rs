//! `anyhook review`: asks another model about an artifact, by hand or when a stage is completed.

use std::path::PathBuf;
use std::time::Duration;

use anyhook_mcp::second_opinion::{ReviewVerdict, SecondOpinion};
use anyhook_model::exit_code;
use anyhook_workflow::opinion;
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::mcp_wait::limit;
use crate::ui::{Out, Tone};
use crate::workflow::{self, ProjectMcpServers, path_in_project, workflow_agent};

/// Ask another model for its opinion of an artifact, through its MCP server
///
/// The review is saved next to the artifact and in `ARTIFACTS/system`, as
/// `second-opinion-review.json`. Exit 1 if there is no review; the file says why.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook review ARTIFACTS/system-architect/architecture-handover-packet.json"
)]
pub struct ReviewArgs {
    /// The artifact: a JSON file in the project
    #[arg(required_unless_present = "event")]
    artifact: Option<PathBuf>,
    /// For hook scripts: take the agent from the event on standard input
    #[arg(long, conflicts_with_all = ["artifact", "json"])]
    event: bool,
    /// Time limit, such as 2m; default: 1m
    #[arg(long, value_name = "TIME", value_parser = limit)]
    timeout: Option<Duration>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &ReviewArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let within = arguments.timeout.unwrap_or(opinion::WITHIN);
    let Some(artifact) = &arguments.artifact else {
        return workflow::in_a_hook(after_work(within, environment));
    };
    let project = workflow::find(environment)?;
    let path = path_in_project(&project, artifact, environment)?;
    let review = opinion::review(&project, &ProjectMcpServers(environment), &path, within)?;
    if arguments.json {
        out.json(&review)?;
    } else if review.reason.is_none() {
        show(&review, out)?;
    }
    let Some(reason) = review.reason else { return Ok(exit_code::OK) };
    let trouble = CommandError::problem(format!("no second opinion: {reason}"));
    Err(match review.hint {
        Some(hint) => trouble.hint(hint),
        None => trouble,
    })
}

/// Requests a review of what an agent has completed.
fn after_work(within: Duration, environment: &Environment) -> Result<(), CommandError> {
    let event = workflow::read_event()?;
    let project = workflow::find(environment)?;
    let Some(agent) = event.agent(&project.definition, workflow_agent().0.as_deref()) else {
        return Ok(());
    };
    let Some(state) = project.state()? else { return Ok(()) };
    let servers = ProjectMcpServers(environment);
    Ok(opinion::review_for(&project, &servers, &state, &agent, within)?)
}

fn show(review: &SecondOpinion, out: &mut Out) -> Result<(), CommandError> {
    let tone = match review.verdict {
        Some(ReviewVerdict::Approve | ReviewVerdict::ApproveWithNotes) => Tone::Good,
        Some(ReviewVerdict::NeedsChanges) => Tone::Warn,
        Some(ReviewVerdict::Reject) | None => Tone::Bad,
    };
    let verdict = review.verdict.map_or("unavailable", ReviewVerdict::words);
    out.line(&[(tone, verdict), (Tone::Dim, &format!("  {}", review.scope))])?;
    out.field("reviewer", Tone::Plain, &review.reviewer)?;
    for (name, texts) in [("concern", &review.concerns), ("suggestion", &review.suggestions)] {
        for text in texts {
            out.field(name, Tone::Plain, text)?;
        }
    }
    Ok(())
}
