//! A pipeline of a runbook, with a drawing of its steps.

use std::collections::BTreeMap;
use std::io;

use anyhook_model::pipeline::WorkspaceKind;
use anyhook_model::reaction::Trigger;
use anyhook_model::report::runbook::{
    ListedVariable, ShownAgent, ShownPipeline, ShownStep, ShownWorkspace,
};
use anyhook_terminal::{Cell, Out, StyledLine, Tone, first_line};
use jiff::SignedDuration;
use serde_json::Value;

/// Shows a pipeline, with a drawing of its steps; texts are cut so that lines are about `width`
/// wide.
pub fn show(pipeline: &ShownPipeline, width: usize, out: &mut Out) -> io::Result<()> {
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
    section("locals", &pairs(&pipeline.locals, width), out)?;
    section("notify", &pairs(&pipeline.notify, width), out)?;
    out.gap()?;
    out.line(&[(Tone::Dim, "steps")])?;
    out.lines("  ", &picture(&pipeline.steps, width))?;
    for agent in &pipeline.agents {
        out.gap()?;
        out.line(&[(Tone::Dim, "agent "), (Tone::Strong, &agent.name)])?;
        out.table(&agent_rows(agent, width))?;
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
fn section(title: &str, rows: &[Vec<Cell>], out: &mut Out) -> io::Result<()> {
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

fn pairs(texts: &BTreeMap<String, String>, width: usize) -> Vec<Vec<Cell>> {
    texts
        .iter()
        .map(|(name, text)| vec![name_cell(name), Cell::new(Tone::Plain, in_a_line(text, width))])
        .collect()
}

/// Cuts a text to what fits next to its name.
fn in_a_line(text: &str, width: usize) -> String {
    first_line(text.trim_end(), width.saturating_sub(16).max(20))
}

/// Draws the steps in order, each with its outgoing edges.
fn picture(steps: &[ShownStep], width: usize) -> Vec<StyledLine> {
    let names = steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
    let mut lines: Vec<StyledLine> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let work = match (&step.run, &step.agent) {
            (_, Some(agent)) => format!("agent {agent}"),
            (run, None) => format!("$ {}", in_a_line(run.as_deref().unwrap_or(""), width)),
        };
        let limit = step.timeout_ms.and_then(|limit| i64::try_from(limit).ok());
        let limit =
            limit.map(|limit| format!("  at most {:#}", SignedDuration::from_millis(limit)));
        let limit = limit.unwrap_or_default();
        lines.push(vec![
            (Tone::Strong, step.name.clone()),
            (Tone::Plain, " ".repeat(names - step.name.len() + 2)),
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

fn agent_rows(agent: &ShownAgent, width: usize) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            rows.push(vec![name_cell(name), Cell::new(Tone::Plain, in_a_line(&text, width))]);
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
