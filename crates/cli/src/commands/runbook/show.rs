//! `anyhook runbook show`: shows one pipeline, with a drawing of its steps.

use std::collections::BTreeMap;
use std::path::Path;

use anyhook_model::exit_code;
use anyhook_model::pipeline::WorkspaceKind;
use anyhook_model::reaction::Trigger;
use anyhook_model::report::runbook::{
    ListedVariable, ShownAgent, ShownPipeline, ShownStep, ShownWorkspace,
};
use anyhook_setup::runbook_report;
use jiff::SignedDuration;
use serde_json::Value;

use crate::commands::CommandResult;
use crate::environment::{Environment, terminal_width};
use crate::error::CommandError;
use crate::runbooks::{find_pipeline, path_from};
use crate::ui::{Cell, Out, StyledLine, Tone, first_line};

pub fn run(
    name: &str,
    file: Option<&Path>,
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let (file, _, runbook) = find_pipeline(environment, name, file)?;
    let Some(pipeline) = runbook.pipeline(name) else {
        return Err(CommandError::input(format!("there is no pipeline `{name}`"))
            .hint("`anyhook runbook list` lists the available pipelines"));
    };
    let shown = runbook_report::shown(&runbook, pipeline, &file);
    if json {
        out.json(&shown)?;
    } else {
        out.line(&[
            (Tone::Strong, name),
            (Tone::Dim, "  "),
            (Tone::Dim, &path_from(&file, environment)),
        ])?;
        draw(&shown, out)?;
    }
    Ok(exit_code::OK)
}

fn draw(pipeline: &ShownPipeline, out: &mut Out) -> std::io::Result<()> {
    let workspace = &pipeline.workspace;
    let kind = match workspace.kind {
        WorkspaceKind::None => "the project itself".to_owned(),
        WorkspaceKind::Folder => with_path("a folder", workspace),
        WorkspaceKind::Worktree => with_path("a worktree", workspace),
    };
    out.field("workspace", Tone::Plain, &kind)?;
    for (name, step) in [
        ("on_done", &pipeline.on_done),
        ("on_fail", &pipeline.on_fail),
        ("on_cancel", &pipeline.on_cancel),
    ] {
        if let Some(step) = step {
            out.field(name, Tone::Plain, &format!("→ {step}"))?;
        }
    }
    section("variables", &pipeline.variables.iter().map(variable).collect::<Vec<_>>(), out)?;
    section("locals", &pairs(&pipeline.locals), out)?;
    section("notify", &pairs(&pipeline.notify), out)?;
    out.gap()?;
    out.line(&[(Tone::Dim, "steps")])?;
    out.lines("  ", &picture(&pipeline.steps))?;
    for agent in &pipeline.agents {
        out.gap()?;
        out.line(&[(Tone::Dim, "agent "), (Tone::Strong, &agent.name)])?;
        out.table(&agent_rows(agent))?;
    }
    Ok(())
}

fn with_path(what: &str, workspace: &ShownWorkspace) -> String {
    let path = workspace.path.as_ref().map(|path| format!(" at {path}")).unwrap_or_default();
    let branch =
        workspace.branch.as_ref().map(|name| format!(", branch {name}")).unwrap_or_default();
    let base = workspace.base.as_ref().map(|base| format!(" from {base}")).unwrap_or_default();
    let keep = if workspace.keep { ", kept" } else { ", removed when finished" };
    format!("{what}{path}{branch}{base}{keep}")
}

/// Prints rows under a title, if there are any.
fn section(title: &str, rows: &[Vec<Cell>], out: &mut Out) -> std::io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    out.gap()?;
    out.line(&[(Tone::Dim, title)])?;
    out.table(rows)
}

fn variable(variable: &ListedVariable) -> Vec<Cell> {
    let value = match &variable.default {
        None => Cell::new(Tone::Warn, "required"),
        Some(default) if default.is_empty() => Cell::new(Tone::Dim, "empty"),
        Some(default) => Cell::new(Tone::Plain, default.clone()),
    };
    let about = variable.description.clone().unwrap_or_default();
    vec![name_cell(&variable.name), value, Cell::new(Tone::Dim, about)]
}

fn name_cell(name: &str) -> Cell {
    Cell::new(Tone::Strong, format!("  {name}"))
}

fn pairs(texts: &BTreeMap<String, String>) -> Vec<Vec<Cell>> {
    texts
        .iter()
        .map(|(name, text)| vec![name_cell(name), Cell::new(Tone::Plain, in_a_line(text))])
        .collect()
}

/// Cuts a text to what fits next to its name.
fn in_a_line(text: &str) -> String {
    first_line(text.trim_end(), terminal_width().saturating_sub(16).max(20))
}

/// Draws the steps in order, each with its outgoing edges.
fn picture(steps: &[ShownStep]) -> Vec<StyledLine> {
    let width = steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
    let mut lines: Vec<StyledLine> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let work = match (&step.run, &step.agent) {
            (_, Some(agent)) => format!("agent {agent}"),
            (run, None) => format!("$ {}", in_a_line(run.as_deref().unwrap_or(""))),
        };
        let limit = step.timeout_ms.and_then(|limit| i64::try_from(limit).ok());
        let limit =
            limit.map(|limit| format!("  at most {:#}", SignedDuration::from_millis(limit)));
        let limit = limit.unwrap_or_default();
        lines.push(vec![
            (Tone::Strong, step.name.clone()),
            (Tone::Plain, " ".repeat(width - step.name.len() + 2)),
            (Tone::Plain, work),
            (Tone::Dim, limit),
        ]);
        for (word, tone, next) in
            [("failed", Tone::Bad, &step.on_fail), ("cancelled", Tone::Warn, &step.on_cancel)]
        {
            if let Some(next) = next {
                lines.push(vec![
                    (Tone::Dim, "├─ ".to_owned()),
                    (tone, word.to_owned()),
                    (Tone::Dim, " ─▶ ".to_owned()),
                    (Tone::Plain, next.clone()),
                ]);
            }
        }
        let below = steps.get(number + 1).map(|step| &step.name);
        match &step.on_done {
            Some(next) if Some(next) == below => lines.push(vec![(Tone::Dim, "▼".to_owned())]),
            Some(next) => {
                lines.push(vec![(Tone::Dim, "╰─▶ ".to_owned()), (Tone::Plain, next.clone())]);
                lines.push(Vec::new());
            }
            None => {
                lines.push(vec![(Tone::Dim, "╰─▶ ".to_owned()), (Tone::Good, "end".to_owned())]);
                lines.push(Vec::new());
            }
        }
    }
    while lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

fn agent_rows(agent: &ShownAgent) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            rows.push(vec![name_cell(name), Cell::new(Tone::Plain, in_a_line(&text))]);
        }
    };
    row("run", Some(agent.run.clone()));
    row("prompt", agent.prompt.clone());
    row("prompt_file", agent.prompt_file.clone());
    for (name, value) in &agent.env {
        row("env", Some(format!("{name}={value}")));
    }
    row("cwd", agent.cwd.clone());
    row("host", agent.host.clone());
    for trigger in Trigger::ALL {
        match agent.reactions.get(trigger.name()) {
            Some(Value::Array(rules)) => {
                for rule in rules {
                    row(trigger.name(), Some(in_words(rule)));
                }
            }
            Some(action) => row(trigger.name(), Some(in_words(action))),
            None => {}
        }
    }
    rows
}

/// Describes an action in a line: the kind it is for, what is done, and how.
fn in_words(action: &Value) -> String {
    let Value::Object(members) = action else {
        return plain(action);
    };
    let mut words = Vec::new();
    if let Some(kind) = members.get("match") {
        words.push(format!("{}:", plain(kind)));
    }
    words.extend(members.get("action").map(plain));
    for (key, value) in members {
        if key != "match" && key != "action" {
            words.push(format!("{key}={value}"));
        }
    }
    words.join(" ")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
