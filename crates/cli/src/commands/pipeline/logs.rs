//! `anyhook pipeline logs`: prints what happened, and the output of the steps.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhook_engine::wait::try_poll;
use anyhook_model::daemon::{Request, Response};
use anyhook_model::exit_code;
use anyhook_model::pipeline::{PipelineLine, PipelineView, VisitView};
use anyhook_socket::ClientError;
use clap::Args;
use jiff::tz::TimeZone;

use super::{LOOK_EVERY, find};
use crate::commands::CommandResult;
use crate::daemon::ask;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::format::time_of_day;
use crate::ui::{Out, Tone, printable, zone};

/// At most this much of the end of a step's output is shown.
const SHOWN: u64 = 64 * 1024;

#[derive(Args)]
pub struct LogsArgs {
    /// Its id, or the start of it
    id: String,
    /// Only this step
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// Follow until it finishes
    #[arg(long, short)]
    follow: bool,
    /// Show times in UTC, not by the local clock
    #[arg(long)]
    utc: bool,
    /// Print each line as JSON, without the steps' output
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &LogsArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if arguments.utc {
        zone::set(TimeZone::UTC);
    }
    let pipeline = find(&arguments.id, environment)?;
    if let Some(step) = &arguments.step
        && !pipeline.steps.contains(step)
    {
        let why = format!("pipeline {} has no step `{step}`", pipeline.id);
        return Err(
            CommandError::input(why).hint(format!("available: {}", pipeline.steps.join(", ")))
        );
    }
    let mut shower = LogPrinter::new(arguments.step.clone(), arguments.json);
    follow(pipeline.id.as_str(), arguments.follow, &mut shower, environment, out)?;
    Ok(exit_code::OK)
}

/// Shows what happened, and on request what happens until the pipeline ends. Returns the pipeline
/// as it was last seen.
pub(super) fn follow(
    id: &str,
    follows: bool,
    shower: &mut LogPrinter,
    environment: &Environment,
    out: &mut Out,
) -> Result<PipelineView, CommandError> {
    try_poll(LOOK_EVERY, || {
        // The view first: if it is finished, all of its lines are there.
        let pipeline = find(id, environment)?;
        let request = Request::PipelineLog { id: pipeline.id.to_string(), after: shower.after };
        let Response::PipelineLog(lines) = ask(environment, &request)? else {
            return Err(ClientError::NoAnswer.into());
        };
        for line in &lines {
            shower.show(line, &pipeline, out)?;
        }
        if pipeline.phase.is_over() || !follows {
            shower.show_output_of_last(&pipeline, out)?;
            return Ok(Some(pipeline));
        }
        out.flush()?;
        Ok(None)
    })
}

/// Prints lines in order, and after the lines of a visit its output.
pub(super) struct LogPrinter {
    step: Option<String>,
    json: bool,
    after: u64,
    /// The visit whose output has not been shown yet.
    visit: Option<u32>,
}

impl LogPrinter {
    pub(super) fn new(step: Option<String>, json: bool) -> Self {
        Self { step, json, after: 0, visit: None }
    }

    fn show(
        &mut self,
        line: &PipelineLine,
        pipeline: &PipelineView,
        out: &mut Out,
    ) -> Result<(), CommandError> {
        self.after = line.number;
        if self.step.is_some() && line.step != self.step {
            return Ok(());
        }
        if self.json {
            let text = serde_json::to_string(line).map_err(std::io::Error::from)?;
            return Ok(out.text(&text)?);
        }
        if line.visit != self.visit {
            self.show_output_of_last(pipeline, out)?;
            self.visit = line.visit;
        }
        let time = time_of_day(line.at);
        let step = line.step.as_deref().unwrap_or("");
        let mut texts = line.text.lines();
        let first = texts.next().unwrap_or_default();
        out.line(&[
            (Tone::Dim, &time),
            (Tone::Strong, &format!(" {step:<12} ")),
            (Tone::Plain, &printable(first)),
        ])?;
        for more in texts {
            out.line(&[(Tone::Plain, &format!("{:22}{}", "", printable(more)))])?;
        }
        Ok(())
    }

    /// Shows the output of the last visit, if that has ended.
    fn show_output_of_last(
        &mut self,
        pipeline: &PipelineView,
        out: &mut Out,
    ) -> Result<(), CommandError> {
        let is_it = |visit: &&VisitView| Some(visit.number) == self.visit;
        let Some(visit) = pipeline.visits.iter().find(is_it) else { return Ok(()) };
        if self.json {
            return Ok(());
        }
        self.visit = None;
        let Some(text) = visit.output.as_deref().and_then(|file| end_of(Path::new(file))) else {
            return Ok(());
        };
        for line in printable(text.trim_end()).lines() {
            out.line(&[(Tone::Dim, "  | "), (Tone::Plain, line)])?;
        }
        Ok(())
    }
}

/// Returns the end of a file, if it exists.
fn end_of(file: &Path) -> Option<String> {
    let mut file = fs::File::open(file).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(SHOWN))).ok()?;
    let mut bytes = Vec::new();
    file.take(SHOWN).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|text| !text.trim().is_empty())
}
