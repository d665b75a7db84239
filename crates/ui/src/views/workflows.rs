//! Workflows: all of them, and the stages of one as a picture and a list.

use std::sync::Arc;

use anyhook_model::report::workflow::{ListedWorkflow, StageReport, WaitingApproval};
use axum::Extension;
use axum::extract::State;
use maud::{Markup, PreEscaped, html};

use super::Failed;
use super::layout::{PageHead, page};
use super::parts::{ago, empty, fact, folder_name, in_path};
use crate::api::input::Name;
use crate::app::App;
use crate::assets::VERSION;
use crate::guard::Caller;
use crate::workflows::{self, ShownWorkflow};

/// Shows all workflows.
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Markup, Failed> {
    let all = match workflows::list(&app).await {
        Ok(all) => all,
        Err(error) => return Err(Failed(error, caller)),
    };
    let content = html! {
        h1 { "Workflows" }
        @if all.is_empty() {
            (empty("No workflow was started yet", &html! {
                "A workflow hands checked artifacts from stage to stage, through gates at which you decide: "
                code { "anyhook workflow init" } "."
            }))
        }
        ul.cards #workflows { @for one in &all { (card(one)) } }
    };
    let head = PageHead { section: "/workflows", title: "Workflows", follows: "agents decisions" };
    Ok(page(&app, &caller, head, &content).await)
}

fn card(workflow: &ListedWorkflow) -> Markup {
    html! {
        li.card data-key={"workflow-" (workflow.id) "-" (workflow.project)} {
            h2 {
                a href={"/workflows/" (in_path(&workflow.id))} { (workflow.workflow) }
                " " (status(&workflow.status))
            }
            p.meta {
                span title=(workflow.project) { (folder_name(&workflow.project)) }
                span { "for " (ago(workflow.since)) }
                @if let Some(stage) = &workflow.stage { span { "at " (stage) } }
                @if let Some(mode) = &workflow.execution_mode { span { (mode) } }
            }
            @if let Some(waiting) = &workflow.waiting_for { p { "Waits for " (waiting) } }
            @if let Some(problem) = &workflow.problem { p.notice.bad { (problem) } }
        }
    }
}

/// A status of a workflow, a stage or a review.
fn status(status: &str) -> Markup {
    let tone = match status {
        "completed" | "approved" => "good",
        "running" | "in_progress" => "idle",
        "paused" | "completed_with_warnings" => "wait",
        "blocked" | "failed" | "aborted" | "rejected" | "unreadable" | "rolled_back" => "bad",
        _ => "over",
    };
    html! { span.chip.(tone) { (status.replace('_', " ")) } }
}

/// Shows one workflow.
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Markup, Failed> {
    match workflows::show(&app, &id).await {
        Ok(shown) => {
            let title = format!("Workflow {}", shown.report.workflow);
            let follows = "agents decisions pipelines";
            let head = PageHead { section: "/workflows", title: &title, follows };
            Ok(page(&app, &caller, head, &content(&shown)).await)
        }
        Err(error) => Err(Failed(error, caller)),
    }
}

fn content(shown: &ShownWorkflow) -> Markup {
    let report = &shown.report;
    html! {
        link rel="stylesheet" href={"/assets/workflow.css?" (VERSION)};
        p.hint { a href="/workflows" { "Workflows" } }
        h1 { (report.workflow) " " (status(&report.status)) }
        dl.facts #facts {
            dt { "Project" } dd { (shown.project) }
            (fact("Mode", report.execution_mode.as_deref()))
            dt { "Risk" } dd { (report.risk_level) }
        }
        @for wait in &report.waits { (waiting(wait)) }
        @match &shown.graph {
            Some(graph) => {
                figure.workflow-graph tabindex="0" aria-label="The stages; the list below has the same" { (PreEscaped(graph)) }
            },
            None => { p.notice.warn { "Its definition has changed since it was started, so there is no picture." } },
        }
        h2 { "Stages" }
        (stages(&report.stages))
        @if !report.next.is_empty() {
            h2 { "Works next" }
            ul.plain { @for next in &report.next {
                li { code { (next.agent) } ", " (next.stage)
                    @if let Some(reviewed) = &next.reviewed_stage { ", reviews " (reviewed) } }
            } }
        }
        @if !report.hints.is_empty() {
            h2 { "What can be done" }
            ul.plain { @for hint in &report.hints { li { code { (hint) } } } }
        }
    }
}

fn waiting(wait: &WaitingApproval) -> Markup {
    html! {
        section.notice.warn {
            p { strong { (wait.stage) } " waits for a person: " (wait.asks.replace('_', " "))
                ". It is in the " a href="/decisions" { "inbox" } " if the daemon asks; in a terminal:" }
            ul { @for answer in &wait.answers { li { code { (answer) } } } }
        }
    }
}

fn stages(stages: &[StageReport]) -> Markup {
    html! {
        div.table-wrap tabindex="0" role="region" aria-label="Stages" {
            table {
                thead { tr { th scope="col" { "Stage" } th scope="col" { "State" } th scope="col" { "Agent" }
                    th scope="col" { "Gate" } th scope="col" { "Reviews" } th scope="col" { "Since" } th scope="col" { "Notes" } } }
                tbody { @for stage in stages { (row(stage)) } }
            }
        }
    }
}

fn row(stage: &StageReport) -> Markup {
    html! {
        tr data-key={"stage-" (stage.name)} {
            th scope="row" { (stage.name) @if let Some(group) = &stage.group { div.hint { (group) } } }
            td { (status(&stage.status)) @if stage.attempts > 1 { " " span.hint { "attempt " (stage.attempts) } } }
            td { (stage.agent) }
            td { @match &stage.asks {
                Some(asks) => { span.chip.wait { "asks: " (asks.replace('_', " ")) } },
                None if stage.passed => { "passed" },
                None => { span.hint { "–" } },
            } }
            td { @for review in &stage.reviews {
                div { (review.name) " " @match &review.verdict {
                    Some(verdict) => { (verdict.replace('_', " ")) },
                    None => { (status(&review.status)) },
                } }
            } }
            td { @if let Some(at) = stage.completed_at.or(stage.started_at) { (ago(at)) " ago" } }
            td {
                @if let Some(reason) = &stage.reason { (reason) }
                @for warning in &stage.warnings { div.hint { (warning) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhook_model::report::workflow::WorkflowReport;

    use super::*;

    const EVIL: &str = "<b onclick=x>";

    #[test]
    fn stages_are_a_list_as_well_as_a_picture() {
        let stage = StageReport {
            name: EVIL.to_owned(),
            agent: EVIL.to_owned(),
            group: Some(EVIL.to_owned()),
            status: "completed_with_warnings".to_owned(),
            passed: false,
            attempts: 2,
            started_at: None,
            completed_at: None,
            artifacts: Vec::new(),
            asks: Some("approval".to_owned()),
            reviews: Vec::new(),
            warnings: vec![EVIL.to_owned()],
            reason: Some(EVIL.to_owned()),
        };
        let wait = WaitingApproval {
            stage: EVIL.to_owned(),
            asks: "approval".to_owned(),
            answers: vec![EVIL.to_owned()],
            second_opinion: None,
        };
        let report = WorkflowReport {
            workflow: EVIL.to_owned(),
            id: "a".to_owned(),
            revision: 1,
            status: "paused".to_owned(),
            execution_mode: None,
            risk_level: "medium".to_owned(),
            stages: vec![stage],
            next: Vec::new(),
            waits: vec![wait],
            hints: vec![EVIL.to_owned()],
        };
        let shown = ShownWorkflow { report, project: EVIL.to_owned(), graph: None };
        let page = content(&shown).into_string();
        assert!(!page.contains("<b "), "{page}");
        for text in ["attempt 2", "asks: approval", "completed with warnings", "no picture"] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
}
