//! The workflow board: the status of every stage, for a terminal.

use std::io;

use anyhook_model::report::workflow::{NextAgent, StageReport, WaitingApproval, WorkflowReport};
use anyhook_terminal::format::age;
use anyhook_terminal::{Column, Out, Page, Tone};
use jiff::Timestamp;

use crate::opinion::lines;

/// Draws the board.
pub fn draw(
    report: &WorkflowReport,
    now: Timestamp,
    width: usize,
    out: &mut Out,
) -> io::Result<()> {
    let mode = report.execution_mode.as_deref().unwrap_or("mode not set yet");
    out.line(&[
        (Tone::Strong, &report.workflow),
        (Tone::Dim, &format!(" {}  ", report.id)),
        (tone(&report.status), &report.status),
        (Tone::Plain, &format!("  {mode}, risk {}", report.risk_level)),
    ])?;
    out.gap()?;
    table(&report.stages, now, width, out)?;
    for stage in &report.stages {
        for warning in &stage.warnings {
            out.line(&[(Tone::Warn, &format!("{}: ", stage.name)), (Tone::Plain, warning)])?;
        }
        if let Some(reason) = &stage.reason {
            out.line(&[(Tone::Bad, &format!("{}: ", stage.name)), (Tone::Plain, reason)])?;
        }
    }
    if !(report.next.is_empty() && report.waits.is_empty() && report.hints.is_empty()) {
        out.gap()?;
    }
    steps(&report.next, &report.waits, out)?;
    hints(&report.hints, out)
}

/// Prints what can be done next.
pub fn hints(hints: &[String], out: &mut Out) -> io::Result<()> {
    for hint in hints {
        out.hint(hint)?;
    }
    Ok(())
}

/// Prints who works and who is asked.
pub fn steps(next: &[NextAgent], waits: &[WaitingApproval], out: &mut Out) -> io::Result<()> {
    for one in next {
        let what = match &one.reviewed_stage {
            Some(reviewed) => format!("{} of {reviewed}", one.stage),
            None => one.stage.clone(),
        };
        let again = match one.attempt {
            0 | 1 => String::new(),
            attempt => format!(", attempt {attempt}"),
        };
        out.line(&[
            (Tone::Plain, "next: "),
            (Tone::Strong, &one.agent),
            (Tone::Plain, &format!(" does {what}{again}")),
        ])?;
    }
    for waiting in waits {
        let what = match waiting.asks.as_str() {
            "choice" => "decide what to do about the bugs found in",
            _ => "waiting for approval:",
        };
        out.line(&[(Tone::Warn, what), (Tone::Strong, &format!(" {}", waiting.stage))])?;
        let opinion = waiting.second_opinion.clone();
        let opinion = opinion.and_then(|review| serde_json::from_value(review).ok());
        for line in opinion.iter().flat_map(lines) {
            out.line(&[(Tone::Plain, &line)])?;
        }
    }
    Ok(())
}

/// Shows a line for each stage, at most `width` wide.
fn table(stages: &[StageReport], now: Timestamp, width: usize, out: &mut Out) -> io::Result<()> {
    let column = |title: &str, cell: &dyn Fn(&StageReport) -> (Tone, String)| {
        Column::new(title, stages.iter().map(cell).collect::<Vec<_>>().into_iter())
    };
    let since = |stage: &StageReport| {
        let since = stage.completed_at.or(stage.started_at);
        since.map(|since| age(since, now)).unwrap_or_default()
    };
    Page::new(out, width).table(
        0,
        vec![
            column("", &|stage| (tone(&stage.status), mark(&stage.status).to_owned())),
            column("stage", &|stage| (Tone::Strong, name(stage))).firm(16),
            column("owner", &|stage| (Tone::Plain, stage.agent.clone())).least(8).weight(2),
            column("status", &|stage| (tone(&stage.status), stage.status.replace('_', " ")))
                .firm(11),
            column("for", &|stage| (Tone::Dim, since(stage))).weight(3),
            column("artifacts", &|stage| (Tone::Plain, artifacts(stage))).least(10).weight(1),
            column("gate", &gate).least(18),
        ],
    )
}

/// Returns the names of the artifacts that exist.
fn artifacts(stage: &StageReport) -> String {
    let made = stage.artifacts.iter().filter(|artifact| artifact.exists);
    let names = made.map(|artifact| {
        let name = artifact.path.rsplit('/').next().unwrap_or_default();
        format!("{name}{}", if artifact.changed { " (changed since)" } else { "" })
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the name of a stage; those of a group are parallel and marked with a bar.
fn name(stage: &StageReport) -> String {
    let bar = if stage.group.is_some() { "│ " } else { "" };
    format!("{bar}{}", stage.name)
}

fn gate(stage: &StageReport) -> (Tone, String) {
    let reviews = stage.reviews.iter().map(|review| {
        let verdict = review.verdict.as_deref().unwrap_or(&review.status).replace('_', " ");
        format!("{} {verdict}", review.name)
    });
    let asked = match stage.asks.as_deref() {
        Some("approval") => Some("waits for approval".to_owned()),
        Some(_) => Some("waits for a decision".to_owned()),
        None if stage.passed && stage.status != "skipped" => Some("passed".to_owned()),
        None => None,
    };
    let tone = if stage.asks.is_some() { Tone::Warn } else { Tone::Dim };
    (tone, reviews.chain(asked).collect::<Vec<_>>().join(", "))
}

fn mark(status: &str) -> &'static str {
    match status {
        "completed" => "✔",
        "completed_with_warnings" => "!",
        "in_progress" => "▶",
        "blocked" | "failed" => "✘",
        "skipped" => "–",
        "rolled_back" => "↺",
        _ => "·",
    }
}

/// Returns the tone of a status.
pub fn tone(status: &str) -> Tone {
    match status {
        "completed" => Tone::Good,
        "in_progress" | "running" => Tone::Hint,
        "completed_with_warnings" | "paused" | "rolled_back" => Tone::Warn,
        "blocked" | "failed" | "aborted" => Tone::Bad,
        _ => Tone::Dim,
    }
}
