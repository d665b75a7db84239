//! `anyhook context7`: fetches current documentation, by hand or before an agent works.

use std::time::Duration;

use anyhook_mcp::context7::{DocumentationReport, DocumentationStatus};
use anyhook_model::exit_code;
use anyhook_workflow::documentation;
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::mcp_wait::limit;
use crate::ui::{Out, Tone};
use crate::workflow::{self, ProjectMcpServers, workflow_agent};

/// How long a person who asks by hand waits, for all topics together.
const WITHIN: Duration = Duration::from_secs(60);

/// Fetch current documentation from the context7 MCP server and save it in the workflow's report
///
/// The report is `ARTIFACTS/system/context-refresh-report.json`; an entry for the same topic and
/// stage is replaced. Exit 1 if no documentation was found; the report says why.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook context7 'Next.js App Router' --stage frontend_implementation"
)]
pub struct Context7Args {
    /// The topic: a library, optionally with a part of it
    #[arg(required_unless_present = "event", value_name = "TOPIC")]
    topics: Vec<String>,
    /// The stage whose agent receives it
    #[arg(long, value_name = "STAGE")]
    stage: Option<String>,
    /// For hook scripts: take the stage from the event on standard input, the topics from the project
    #[arg(long, conflicts_with_all = ["topics", "stage", "json"])]
    event: bool,
    /// Time limit for all topics together, such as 2m; default: 1m, or 25s in a hook
    #[arg(long, value_name = "TIME", value_parser = limit)]
    timeout: Option<Duration>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Context7Args, environment: &Environment, out: &mut Out) -> CommandResult {
    if arguments.event {
        return workflow::in_a_hook(before_work(arguments.timeout, environment));
    }
    let topics = topics(&arguments.topics)?;
    let project = workflow::find(environment)?;
    let stage = arguments.stage.as_deref();
    if let Some(stage) = stage
        && project.definition.stage(stage).is_none()
    {
        let names: Vec<&str> =
            project.definition.stages.iter().map(|stage| stage.name.text.as_str()).collect();
        return Err(CommandError::usage(format!("the workflow has no stages `{stage}`"))
            .hint(format!("available: {}", names.join(", "))));
    }
    let within = arguments.timeout.unwrap_or(WITHIN);
    let servers = ProjectMcpServers(environment);
    let reports = documentation::refresh(&project, &servers, &topics, stage, within)?;
    if arguments.json {
        out.json(&reports)?;
    } else {
        let fetched = reports.iter().filter(|report| report.status == DocumentationStatus::Fetched);
        for (index, report) in fetched.enumerate() {
            if index > 0 {
                out.gap()?;
            }
            show(report, out)?;
        }
    }
    missing(&reports)
}

/// Fetches the documentation that an agent should have before it works.
fn before_work(within: Option<Duration>, environment: &Environment) -> Result<(), CommandError> {
    let event = workflow::read_event()?;
    let project = workflow::find(environment)?;
    let Some(agent) = event.agent(&project.definition, workflow_agent().0.as_deref()) else {
        return Ok(());
    };
    let Some(state) = project.state()? else { return Ok(()) };
    let within = within.unwrap_or(documentation::AT_START);
    let servers = ProjectMcpServers(environment);
    let reports = documentation::refresh_for(&project, &servers, &state, &agent, within)?;
    missing(&reports).map(drop)
}

/// Returns the topics without duplicates.
fn topics(told: &[String]) -> Result<Vec<String>, CommandError> {
    let mut topics: Vec<String> = Vec::new();
    for topic in told.iter().map(|topic| topic.trim()) {
        if topic.is_empty() {
            return Err(
                CommandError::usage("a topic is empty").hint("name a library, such as `react`")
            );
        }
        if !topics.iter().any(|known| known == topic) {
            topics.push(topic.to_owned());
        }
    }
    Ok(topics)
}

fn show(report: &DocumentationReport, out: &mut Out) -> Result<(), CommandError> {
    let library = report.library.as_ref().map(|library| format!("  {library}"));
    let source = report.source_url.as_ref().map(|address| format!("  {address}"));
    out.line(&[
        (Tone::Strong, &report.topic),
        (Tone::Dim, library.as_deref().unwrap_or_default()),
        (Tone::Dim, source.as_deref().unwrap_or_default()),
    ])?;
    out.line(&[(Tone::Plain, report.summary.as_deref().unwrap_or_default())])?;
    Ok(())
}

/// Reports which topics have no documentation, and why.
fn missing(reports: &[DocumentationReport]) -> CommandResult {
    let is_missing =
        |report: &&DocumentationReport| report.status == DocumentationStatus::Unavailable;
    let missing: Vec<&DocumentationReport> = reports.iter().filter(is_missing).collect();
    let Some(first) = missing.first() else { return Ok(exit_code::OK) };
    let why = |report: &DocumentationReport| report.reason.clone().unwrap_or_default();
    let message = if missing.iter().all(|report| report.reason == first.reason) {
        let topics: Vec<String> =
            missing.iter().map(|report| format!("`{}`", report.topic)).collect();
        format!(" {}: {}", topics.join(", "), why(first))
    } else {
        let line =
            |report: &&DocumentationReport| format!("\n  `{}`: {}", report.topic, why(report));
        let lines: Vec<String> = missing.iter().map(line).collect();
        format!(":{}", lines.concat())
    };
    let trouble = CommandError::problem(format!("no documentation found for{message}"));
    Err(match &first.hint {
        Some(hint) => trouble.hint(hint),
        None => trouble,
    })
}
