//! Pipelines: all of them, and one as a picture that moves, a list, and its log.

use std::sync::Arc;

use anyhook_model::json::shorten;
use anyhook_model::pipeline::{PipelineLine, PipelinePhase, PipelineView, VisitState, VisitView};
use anyhook_terminal::format::brief;
use anyhook_terminal::states::{phase_tone, visit_sign};
use anyhook_terminal::{printable, tidy};
use axum::Extension;
use axum::extract::State;
use jiff::Timestamp;
use maud::{Markup, html};

use super::Failed;
use super::layout::{PageHead, page};
use super::parts::{ago, empty, fact, folder_name, in_path, tone};
use crate::api::input::Name;
use crate::app::App;
use crate::error::PageError;
use crate::guard::Caller;

/// How many pipelines that have ended are shown.
const ENDED: usize = 30;
/// How many lines of a log are shown.
const LINES: usize = 100;
/// More steps are not drawn.
const DRAWN: usize = 60;

/// Shows all pipelines.
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Markup, Failed> {
    let all = match app.pipelines().await {
        Ok(all) => all,
        Err(error) => return Err(Failed(error, caller)),
    };
    let (ended, present): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.phase.is_over());
    let content = html! {
        h1 { "Pipelines" }
        @if all.is_empty() {
            (empty("No pipeline was started yet", &html! {
                "A runbook says which agents and commands run one after another: "
                code { "anyhook pipeline run NAME" } "."
            }))
        } @else if present.is_empty() {
            p.hint { "None is running." }
        }
        ul.cards #present { @for one in &present { (card(one)) } }
        @if !ended.is_empty() {
            h2 { "Ended" }
            ul.cards #ended { @for one in ended.iter().take(ENDED) { (card(one)) } }
            @if ended.len() > ENDED { p.hint { (ended.len() - ENDED) " more: " code { "anyhook pipeline list" } } }
        }
    };
    let head = PageHead { section: "/pipelines", title: "Pipelines", follows: "pipelines" };
    Ok(page(&app, &caller, head, &content).await)
}

fn card(pipeline: &PipelineView) -> Markup {
    html! {
        li.card data-key={"pipeline-" (pipeline.id)} {
            h2 {
                a href={"/pipelines/" (in_path(pipeline.id.as_str()))} { (pipeline.run_name.as_ref().unwrap_or(&pipeline.name)) }
                " " (phase(pipeline.phase))
            }
            p.meta {
                span title=(pipeline.project) { (folder_name(&pipeline.project)) }
                span { (elapsed(pipeline)) }
                @if let Some(step) = &pipeline.step { span { "at " (step) } }
            }
            (dots(pipeline))
            @if let Some(why) = &pipeline.why { p.hint { (shorten(why, 300)) } }
            (waits(pipeline))
        }
    }
}

fn phase(phase: PipelinePhase) -> Markup {
    html! { span.chip.(tone(phase_tone(phase))) { (phase.name()) } }
}

fn elapsed(pipeline: &PipelineView) -> Markup {
    html! {
        @match pipeline.ended {
            Some(ended) => { "took " (brief(ended.duration_since(pipeline.created))) ", " (ago(ended)) " ago" },
            None => { "for " (ago(pipeline.created)) },
        }
    }
}

fn waits(pipeline: &PipelineView) -> Markup {
    html! {
        @if let Some(decision) = &pipeline.decision {
            p { a.button href={"/decisions/" (in_path(decision.as_str()))} { "Answer" } }
        }
    }
}

/// The steps as a row of dots; in words for those who do not see them.
fn dots(pipeline: &PipelineView) -> Markup {
    html! {
        ol.dots aria-label="Steps" {
            @for step in pipeline.steps.iter().take(DRAWN) {
                @let state = StepState::of(pipeline, step);
                li.(state.class) title={(step) ": " (state.word)} { span.unseen { (step) ": " (state.word) } }
            }
        }
    }
}

/// How far a step is.
struct StepState {
    class: &'static str,
    word: &'static str,
    visits: usize,
}

impl StepState {
    fn of(pipeline: &PipelineView, step: &str) -> Self {
        let mut visits = pipeline.visits.iter().filter(|visit| visit.step == step);
        let count = visits.clone().count();
        let (class, word) =
            visits.next_back().map_or(("ahead", "not yet"), |last| of_visit(last.state));
        Self { class, word, visits: count }
    }
}

fn of_visit(state: VisitState) -> (&'static str, &'static str) {
    let class = match state {
        VisitState::Running => "running",
        VisitState::Waiting => "waiting",
        VisitState::Completed => "done",
        VisitState::Failed => "failed",
        VisitState::Cancelled => "cancelled",
    };
    (class, state.name())
}

/// Shows one pipeline.
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Markup, Failed> {
    match detail(&app, &id).await {
        Ok((title, content)) => {
            let head =
                PageHead { section: "/pipelines", title: &title, follows: "pipelines agents" };
            Ok(page(&app, &caller, head, &content).await)
        }
        Err(error) => Err(Failed(error, caller)),
    }
}

async fn detail(app: &App, id: &str) -> Result<(String, Markup), PageError> {
    let pipeline = app.pipeline(id).await?;
    let log = app.pipeline_log(pipeline.id.as_str(), 0).await?;
    let title = format!("Pipeline {}", pipeline.shown_name());
    Ok((title, content(&pipeline, &log)))
}

fn content(pipeline: &PipelineView, log: &[PipelineLine]) -> Markup {
    html! {
        p.hint { a href="/pipelines" { "Pipelines" } }
        h1 { (pipeline.run_name.as_ref().unwrap_or(&pipeline.name)) " " (phase(pipeline.phase)) }
        @if let Some(why) = &pipeline.why {
            p.notice.(if pipeline.phase == PipelinePhase::Failed { "bad" } else { "warn" }) { (printable(why)) }
        }
        (waits(pipeline))
        div.beside {
            figure.picture { (picture(pipeline)) }
            section { (facts(pipeline)) }
        }
        h2 { "Steps" }
        (visits(pipeline))
        h2 { "Log" }
        (tail(pipeline, log))
    }
}

fn facts(pipeline: &PipelineView) -> Markup {
    let root = &pipeline.workspace.root;
    html! {
        dl.facts #facts {
            dt { "Time" } dd { (elapsed(pipeline)) }
            (fact("Step", pipeline.step.as_deref()))
            @if let Some(agent) = &pipeline.agent {
                dt { "Agent" } dd { a href={"/agents/" (in_path(agent))} { (agent) } }
            }
            (fact("Pipeline", pipeline.run_name.as_ref().map(|_| pipeline.name.as_str())))
            dt { "Project" } dd { (pipeline.project) }
            (fact("Workspace", (*root != pipeline.project).then_some(root.as_str())))
            (fact("Branch", pipeline.workspace.branch.as_deref()))
            dt { "Runbook" } dd { (pipeline.runbook) }
            @for (name, value) in &pipeline.variables { dt { "var." (name) } dd { (shorten(value, 500)) } }
        }
    }
}

/// The width of a step, its height, and the distance between two.
const WIDTH: usize = 260;
const HEIGHT: usize = 52;
const APART: usize = 26;
/// Room beside the steps for the ways back.
const BESIDE: usize = 56;

/// The steps from the top to the bottom, with the ways that were taken. What it shows is in the list
/// below it, too.
fn picture(pipeline: &PipelineView) -> Markup {
    let steps: Vec<&str> = pipeline.steps.iter().take(DRAWN).map(String::as_str).collect();
    let place = |step: &str| steps.iter().position(|one| *one == step);
    let top = |index: usize| 2 + index * (HEIGHT + APART);
    let height = steps.len() * (HEIGHT + APART);
    let ways = ways(pipeline, &place);
    let is_now =
        |from: usize, to: usize| ways.last() == Some(&(from, to)) && !pipeline.phase.is_over();
    let jumps: Vec<(usize, usize)> = {
        let mut jumps: Vec<_> = ways.iter().copied().filter(|(from, to)| *to != from + 1).collect();
        jumps.sort_unstable();
        jumps.dedup();
        jumps
    };
    html! {
        svg.steps viewBox={"0 0 " (WIDTH + BESIDE) " " (height)} width=(WIDTH + BESIDE) height=(height)
            role="img" aria-label=(described(pipeline)) {
            @for index in 1..steps.len() {
                @let class = match () {
                    () if is_now(index - 1, index) => "way now",
                    () if ways.contains(&(index - 1, index)) => "way taken",
                    () => "way",
                };
                path class=(class) d={"M" (WIDTH / 2) " " (top(index - 1) + HEIGHT) " V" (top(index) - 1)} {}
            }
            @for (number, (from, to)) in jumps.into_iter().enumerate() {
                @let bend = WIDTH + 12 + (number % 4) * 11;
                path class={"way back" @if is_now(from, to) { " now" } @else { " taken" }}
                    d={"M" (WIDTH) " " (top(from) + HEIGHT / 2) " H" (bend) " V" (top(to) + HEIGHT / 2) " H" (WIDTH)} {}
            }
            @for (index, step) in steps.iter().enumerate() {
                @let state = StepState::of(pipeline, step);
                g class={"step " (state.class)} {
                    title { (step) ": " (state.word) }
                    rect x="1" y=(top(index)) width=(WIDTH - 2) height=(HEIGHT) rx="8" {}
                    text.name x="14" y=(top(index) + 22) { (tidy(&shorten(step, 30))) }
                    text.word x="14" y=(top(index) + 41) {
                        (sign(pipeline, step)) " " (state.word)
                        @if state.visits > 1 { ", visit " (state.visits) }
                    }
                }
            }
        }
        @if pipeline.steps.len() > DRAWN { figcaption.hint { (pipeline.steps.len() - DRAWN) " more steps are not drawn." } }
    }
}

fn sign(pipeline: &PipelineView, step: &str) -> &'static str {
    let last = pipeline.visits.iter().rfind(|visit| visit.step == step);
    last.map_or("·", |visit| visit_sign(visit.state).0)
}

/// Returns from which step to which one the pipeline went, in order.
fn ways(pipeline: &PipelineView, place: &dyn Fn(&str) -> Option<usize>) -> Vec<(usize, usize)> {
    let places: Vec<Option<usize>> =
        pipeline.visits.iter().map(|visit| place(&visit.step)).collect();
    places.windows(2).filter_map(|pair| Some((pair[0]?, pair[1]?))).collect()
}

fn described(pipeline: &PipelineView) -> String {
    let steps = pipeline
        .steps
        .iter()
        .take(DRAWN)
        .map(|step| format!("{step}: {}", StepState::of(pipeline, step).word));
    format!("Steps. {}", steps.collect::<Vec<_>>().join("; "))
}

/// Every visit of a step, and the steps that are ahead.
fn visits(pipeline: &PipelineView) -> Markup {
    let now = anyhook_engine::now();
    let ahead = pipeline
        .steps
        .iter()
        .filter(|step| pipeline.visits.iter().all(|visit| visit.step != **step));
    html! {
        div.table-wrap tabindex="0" role="region" aria-label="Steps" {
            table {
                thead { tr { th scope="col" { "Step" } th scope="col" { "State" } th scope="col" { "Took" }
                    th scope="col" { "Agent" } th scope="col" { "Why" } } }
                tbody {
                    @for visit in &pipeline.visits { (visit_row(pipeline, visit, now)) }
                    @for step in ahead {
                        tr data-key={"ahead-" (step)} { th scope="row" { (step) } td { span.chip.over { "not yet" } } td {} td {} td {} }
                    }
                }
            }
        }
    }
}

fn visit_row(pipeline: &PipelineView, visit: &VisitView, now: Timestamp) -> Markup {
    let is_current = pipeline.visits.last().is_some_and(|last| last.number == visit.number)
        && !pipeline.phase.is_over();
    html! {
        tr data-key={"visit-" (visit.number)} aria-current=[is_current.then_some("step")] {
            th scope="row" { (visit.step) }
            td { span.chip.(tone(visit_sign(visit.state).1)) { (visit.state.name()) } }
            td { @match visit.ended {
                Some(ended) => { (brief(ended.duration_since(visit.began))) },
                None if visit.began <= now => { (ago(visit.began)) },
                None => {},
            } }
            td { @if let Some(agent) = &visit.agent { a href={"/agents/" (in_path(agent))} { (agent) } } }
            td { @if let Some(why) = &visit.why { (printable(&shorten(why, 500))) } }
        }
    }
}

fn tail(pipeline: &PipelineView, log: &[PipelineLine]) -> Markup {
    let left_out = log.len().saturating_sub(LINES);
    html! {
        @if log.is_empty() { p.hint { "Nothing yet." } }
        @if left_out > 0 {
            p.hint { (left_out) " earlier lines: " code { "anyhook pipeline log " (pipeline.id) } }
        }
        ol.log #log {
            @for line in log.iter().skip(left_out) {
                li data-key={"line-" (line.number)} {
                    time datetime=(line.at) title=(line.at) { (anyhook_terminal::format::time_of_day(line.at)) }
                    " " @if let Some(step) = &line.step { strong { (step) } " " }
                    span { (printable(&shorten(&line.text, 2000))) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const EVIL: &str = "<script>x</script>\"";

    fn pipeline() -> PipelineView {
        let visit = |number: u32, step: &str, state: &str, ended: Option<&str>| {
            json!({"number": number, "step": step, "state": state, "began": "2026-01-31T09:00:00Z",
                   "ended": ended, "agent": EVIL, "why": EVIL})
        };
        serde_json::from_value(json!({
            "v": 1, "id": "7k2m9x4q", "name": EVIL, "runbook": EVIL, "project": format!("/{EVIL}"),
            "phase": "running", "why": EVIL, "step": "write", "agent": EVIL, "decision": "d1",
            "created": "2026-01-31T09:00:00Z", "variables": {EVIL: EVIL},
            "workspace": {"kind": "none", "root": "/p"}, "steps": ["write", "check", EVIL],
            "visits": [
                visit(1, "write", "completed", Some("2026-01-31T09:01:00Z")),
                visit(2, "check", "failed", Some("2026-01-31T09:02:30Z")),
                visit(3, "write", "running", None),
            ],
        }))
        .unwrap()
    }

    #[test]
    fn the_picture_shows_where_it_is_and_how_it_got_there() {
        let shown = picture(&pipeline()).into_string();
        for text in [
            "class=\"step running\"",
            "class=\"step failed\"",
            "class=\"step ahead\"",
            "&gt; running, visit 2",
            "x failed",
            "class=\"way taken\"",
            "class=\"way back now\"",
            "write: running; check: failed;",
        ] {
            assert!(shown.contains(text), "{text}: {shown}");
        }
        assert!(!shown.contains("<script>") && !shown.contains("style"), "{shown}");
    }

    #[test]
    fn all_of_it_is_in_words_and_nothing_is_markup() {
        let line = PipelineLine {
            number: 1,
            at: Timestamp::UNIX_EPOCH,
            step: Some(EVIL.to_owned()),
            visit: Some(1),
            text: format!("{EVIL}\u{1b}[31m"),
        };
        let shown = content(&pipeline(), &[line]).into_string();
        assert!(!shown.contains("<script>") && !shown.contains('\u{1b}'), "{shown}");
        for text in
            ["aria-current=\"step\"", "not yet", "60s", "/decisions/d1", "/agents/%3Cscript%3E"]
        {
            assert!(shown.contains(text), "{text}: {shown}");
        }
        assert!(card(&pipeline()).into_string().contains("write: running"));
    }

    #[test]
    fn a_long_log_ends_with_its_last_line() {
        let line = |number| PipelineLine {
            number,
            at: Timestamp::UNIX_EPOCH,
            step: None,
            visit: None,
            text: format!("line {number}."),
        };
        let log: Vec<PipelineLine> = (1..=250).map(line).collect();
        let shown = tail(&pipeline(), &log).into_string();
        assert!(shown.contains("line 250.") && shown.contains("150 earlier lines"), "{shown}");
        assert!(!shown.contains("line 150."), "{shown}");
    }
}
