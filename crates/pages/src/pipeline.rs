//! Pipelines: a line for each, and all that is known of one.

use anyhook_engine::Places;
use anyhook_flow::approval_requests::listed;
use anyhook_model::ApprovalRequest;
use anyhook_model::pipeline::PipelineView;
use anyhook_setup::shown;
use anyhook_terminal::format::{age, brief, thousands};
use anyhook_terminal::states::{NOT_VISITED, phase_tone, pipeline_reason, visit_sign, visited};
use anyhook_terminal::{Cell, StyledLine, Tone, columns, field, first_line};
use jiff::Timestamp;

use crate::decisions::how_to_answer;
use crate::usage;

/// What a pipeline waits for is cut to this width.
const WIDTH: usize = 60;

/// Returns a line for each pipeline.
pub fn table(pipelines: &[PipelineView], now: Timestamp, places: &Places) -> Vec<StyledLine> {
    let titles = ["pipeline", "name", "state", "step", "for", "project", "why"];
    let mut rows = vec![titles.map(|title| Cell::new(Tone::Dim, title)).to_vec()];
    for pipeline in pipelines {
        rows.push(vec![
            Cell::new(Tone::Strong, pipeline.id.to_string()),
            Cell::new(Tone::Plain, pipeline.run_name.as_ref().unwrap_or(&pipeline.name)),
            Cell::new(phase_tone(pipeline.phase), pipeline.phase.name()),
            Cell::new(Tone::Plain, pipeline.step.clone().unwrap_or_default()),
            Cell::new(Tone::Plain, age(pipeline.created, pipeline.ended.unwrap_or(now))),
            Cell::new(Tone::Plain, shown(pipeline.project.as_ref(), places)),
            Cell::new(Tone::Plain, pipeline_reason(pipeline, WIDTH)),
        ]);
    }
    columns(&rows)
}

/// Returns all that is known of a pipeline, and the options where it waits.
pub fn lines(
    pipeline: &PipelineView,
    inquiry: Option<&ApprovalRequest>,
    now: Timestamp,
    places: &Places,
) -> Vec<StyledLine> {
    let path = |path: &str| shown(path.as_ref(), places);
    let mut lines = vec![vec![
        (Tone::Strong, pipeline.id.to_string()),
        (Tone::Plain, " ".to_owned()),
        (Tone::Plain, pipeline.run_name.as_ref().unwrap_or(&pipeline.name).clone()),
    ]];
    let began = format!("{} ({} ago)", pipeline.created, age(pipeline.created, now));
    let ended = pipeline.ended.map(|ended| {
        let took = brief(ended.duration_since(pipeline.created));
        format!("{} ago, after {took}", age(ended, now))
    });
    let root = &pipeline.workspace.root;
    let workspace = (*root != pipeline.project).then(|| path(root));
    lines.extend(field("state", phase_tone(pipeline.phase), pipeline.phase.name()));
    let fields = [
        ("pipeline", pipeline.run_name.is_some().then(|| pipeline.name.clone())),
        ("why", pipeline.why.clone()),
        ("started", Some(began)),
        ("ended", ended),
        ("runbook", Some(path(&pipeline.runbook))),
        ("project", Some(path(&pipeline.project))),
        ("workspace", workspace),
        ("branch", pipeline.workspace.branch.clone()),
        ("turns", pipeline.usage.and_then(|usage| usage.turns).map(thousands)),
        ("tokens", pipeline.usage.and_then(usage::tokens)),
    ];
    for (name, value) in fields {
        lines.extend(value.iter().flat_map(|value| field(name, Tone::Plain, value)));
    }
    for (name, value) in &pipeline.variables {
        lines.extend(field(&format!("var.{name}"), Tone::Plain, value));
    }
    lines.extend(pipeline.agent.iter().flat_map(|agent| field("agent", Tone::Plain, agent)));
    lines.push(StyledLine::new());
    lines.extend(steps(pipeline, now));
    lines.extend(inquiry.into_iter().flat_map(options));
    lines
}

/// Returns every visit, and the remaining steps.
fn steps(pipeline: &PipelineView, now: Timestamp) -> Vec<StyledLine> {
    let titles = ["", "step", "state", "took", "why"];
    let mut rows = vec![titles.map(|title| Cell::new(Tone::Dim, title)).to_vec()];
    for visit in &pipeline.visits {
        let (sign, tone) = visit_sign(visit.state);
        let why = visit.why.as_deref().unwrap_or_default();
        rows.push(vec![
            Cell::new(tone, sign),
            Cell::new(Tone::Strong, visit.step.clone()),
            Cell::new(tone, visit.state.name()),
            Cell::new(Tone::Plain, brief(visit.ended.unwrap_or(now).duration_since(visit.began))),
            Cell::new(Tone::Plain, first_line(why, WIDTH)),
        ]);
    }
    let visited = visited(pipeline);
    for step in pipeline.steps.iter().filter(|step| !visited.contains_key(step.as_str())) {
        let cells = [NOT_VISITED, step.as_str(), "", "", ""];
        rows.push(cells.map(|cell| Cell::new(Tone::Dim, cell)).to_vec());
    }
    columns(&rows)
}

/// Returns the questions and their options.
fn options(inquiry: &ApprovalRequest) -> Vec<StyledLine> {
    let plain = |text: &str| vec![(Tone::Plain, text.to_owned())];
    let id = inquiry.id.to_string();
    let mut lines =
        vec![StyledLine::new(), vec![(Tone::Warn, "decision ".to_owned()), (Tone::Strong, id)]];
    lines.extend(inquiry.question.lines().map(plain));
    lines.push(vec![(Tone::Dim, "choose ".to_owned()), (Tone::Plain, listed(&inquiry.options))]);
    let hint = |command: String| vec![(Tone::Hint, "hint: ".to_owned()), (Tone::Plain, command)];
    lines.extend(how_to_answer(inquiry).into_iter().map(hint));
    lines
}
