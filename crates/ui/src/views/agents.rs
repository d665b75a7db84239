//! Agents: what each of them does now, and one of them in detail.

use std::sync::Arc;

use anyhook_model::AgentState;
use anyhook_model::daemon::{AgentView, DecisionView, Request, SendKeys};
use anyhook_pages::search::RecordSearch;
use anyhook_terminal::format::{many, thousands};
use axum::Extension;
use axum::extract::{Form, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::layout::{PageHead, csrf, page};
use super::parts::{ago, empty, fact, folder_name, in_path, span, with_query};
use super::{Failed, decisions};
use crate::api::input::Name;
use crate::app::App;
use crate::error::PageError;
use crate::guard::Caller;
use crate::journal::{self, ReadQuery, RecordPage};
use crate::screen;
use crate::stats::{self, AgentUsage};

/// How many agents that have ended are shown.
const ENDED: usize = 20;
/// How many of the last events of an agent are shown.
const LAST: usize = 15;

/// Shows all agents.
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Markup, Failed> {
    let (mut agents, decisions) = match (app.agents().await, app.decisions().await) {
        (Ok(agents), Ok(decisions)) => (agents, decisions),
        (Err(error), _) | (_, Err(error)) => return Err(Failed(error, caller)),
    };
    agents.sort_by_key(|agent| (rank(agent), std::cmp::Reverse(agent.since)));
    let (ended, present): (Vec<_>, Vec<_>) =
        agents.iter().partition(|agent| agent.full_state().is_over());
    let content = html! {
        h1 { "Agents" }
        (summary(&present))
        @if agents.is_empty() {
            (empty("No agent has been seen yet", &html! {
                "An agent appears as soon as it calls anyhook: " code { "anyhook init" }
                " installs it into the agents of this machine."
            }))
        } @else if present.is_empty() {
            (empty("No agent is running", &html! { "Those that have ended are below." }))
        }
        ul.cards #present {
            @for agent in &present { (card(agent, &decisions)) }
        }
        @if !ended.is_empty() {
            details #ended {
                summary { (ended.len()) " ended" }
                ul.cards.small {
                    @for agent in ended.iter().take(ENDED) { (card(agent, &decisions)) }
                }
            }
        }
    };
    let head = PageHead { section: "/agents", title: "Agents", follows: "agents decisions" };
    Ok(page(&app, &caller, head, &content).await)
}

fn summary(present: &[&AgentView]) -> Markup {
    let count = |is_it: fn(AgentState) -> bool| {
        present.iter().filter(|agent| is_it(agent.full_state())).count()
    };
    let waiting = count(|state| matches!(state, AgentState::Prompting(_)));
    let working = count(|state| state == AgentState::Working);
    let idle = count(|state| state == AgentState::Idle);
    let failed = count(|state| matches!(state, AgentState::Failed(_)));
    html! {
        p.summary #summary {
            @for (number, word, tone) in [
                (waiting, "waiting for you", "wait"),
                (failed, "failed", "bad"),
                (idle, "idle", "idle"),
                (working, "working", "good"),
            ] {
                @if number > 0 { span.chip.(tone) { (number) " " (word) } " " }
            }
        }
    }
}

/// Those that need a person come first.
fn rank(agent: &AgentView) -> u8 {
    match agent.full_state() {
        AgentState::Prompting(_) => 0,
        AgentState::Failed(_) => 1,
        AgentState::Idle => 2,
        AgentState::Working => 3,
        AgentState::Exited | AgentState::Gone => 4,
    }
}

fn card(agent: &AgentView, decisions: &[DecisionView]) -> Markup {
    let decision = agent.decision.as_ref();
    let decision = decisions.iter().find(|one| Some(&one.inquiry.id) == decision);
    html! {
        li.card data-key={"agent-" (agent.id)} {
            h2 {
                a href={"/agents/" (in_path(&agent.id))} { (agent.shown_name()) }
                " " (state(agent))
            }
            p.meta {
                @if let Some(host) = &agent.host { span { (host) } }
                @if let Some(project) = agent.project.as_ref().or(agent.work_dir.as_ref()) {
                    span title=(project) { (folder_name(project)) }
                }
                span { "for " (ago(agent.since)) }
                @if agent.unguarded > 0 { span.chip.bad { (agent.unguarded) " unguarded calls" } }
                @if agent.frozen { span.chip.bad { "stopped" } }
            }
            @if let Some(about) = doing(agent) { p.doing { code { (about) } } }
            @if let Some(decision) = decision {
                p { a.button href={"/decisions/" (decision.inquiry.id)} { "Answer" } " " (decision.inquiry.question) }
            }
        }
    }
}

fn doing(agent: &AgentView) -> Option<String> {
    let tool = agent.tool.as_deref()?;
    Some(match agent.about.as_deref() {
        Some(about) => format!("{tool}: {about}"),
        None => tool.to_owned(),
    })
}

/// An agent's state, with a word as well as a color.
pub fn state(agent: &AgentView) -> Markup {
    let state = agent.full_state();
    let tone = match state {
        AgentState::Working => "good",
        AgentState::Idle => "idle",
        AgentState::Prompting(_) => "wait",
        AgentState::Failed(_) => "bad",
        AgentState::Exited | AgentState::Gone => "over",
    };
    let words = match state {
        AgentState::Prompting(kind) => format!("waits: {}", kind.name().replace('_', " ")),
        AgentState::Failed(kind) => format!("failed: {}", kind.name().replace('_', " ")),
        other => other.name().to_owned(),
    };
    html! { span.chip.(tone) { (words) } }
}

/// Shows one agent.
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Markup, Failed> {
    match detail(&app, &caller, &id).await {
        Ok((title, content)) => {
            let head = PageHead { section: "/agents", title: &title, follows: "agents decisions" };
            Ok(page(&app, &caller, head, &content).await)
        }
        Err(error) => Err(Failed(error, caller)),
    }
}

async fn detail(app: &App, caller: &Caller, id: &str) -> Result<(String, Markup), PageError> {
    let agent = app.agent(id).await?;
    let decisions = app.decisions().await?;
    let of_agent = |one: &&DecisionView| one.inquiry.agent == agent.id;
    let open = decisions.iter().filter(of_agent).filter(|one| one.resolution.is_none());
    let made = decisions.iter().rev().filter(of_agent).filter(|one| one.resolution.is_some());
    let (open, made): (Vec<_>, Vec<_>) = (open.collect(), made.take(10).collect());
    let used = stats::of_one(app, &agent).await;
    let last = last_records(app, &agent).await;
    let screen = screen::of_agent(app, &agent.id).await.ok();
    let content = html! {
        h1 { (agent.shown_name()) " " (state(&agent)) }
        dl.facts #facts {
            dt { "State since" } dd { (ago(agent.since)) ", from " (agent.source.name()) }
            dt { "Last seen" } dd { (ago(agent.seen)) " ago" }
            (fact("Agent", agent.host.as_deref()))
            (fact("Doing", doing(&agent).as_deref()))
            (fact("Project", agent.project.as_deref()))
            (fact("Folder", agent.work_dir.as_deref()))
            (fact("Session", agent.session.as_deref()))
            (fact("Process", agent.process.as_ref().map(|process| process.pid.to_string()).as_deref()))
            (waited(&agent, &decisions))
            @if let Some(pipeline) = &agent.pipeline {
                dt { "Pipeline" } dd { a href={"/pipelines/" (in_path(pipeline.as_str()))} { (pipeline) } }
            }
            (tokens(used.as_ref()))
        }
        @if agent.unguarded > 0 {
            p.notice.bad {
                (agent.unguarded) " of its calls ran although no hook was asked about them. "
                code { "anyhook doctor" } " lists them."
            }
        }
        @if !open.is_empty() {
            h2 { "Waits for you" }
            @for decision in open { (decisions::card(app, caller, decision, Some(&agent)).await) }
        }
        @if let Some(screen) = &screen { (terminal(&agent, caller, screen)) }
        @if !made.is_empty() {
            h2 { "Answered" }
            ul.plain #answered { @for decision in made { (decisions::line(decision)) } }
        }
        (events(&agent, last.as_ref()))
    };
    Ok((agent.shown_name().to_owned(), content))
}

fn terminal(agent: &AgentView, caller: &Caller, screen: &str) -> Markup {
    html! {
        h2 { "Terminal" }
        pre.terminal #terminal tabindex="0" aria-label="The agent's screen" { (screen) }
        @if !agent.full_state().is_over() {
            details #takeover {
                summary { "Take over" }
                form.send method="post" action={"/agents/" (in_path(&agent.id)) "/input"} {
                    (csrf(caller))
                    label for="text" { "A line for its terminal; hooks do not see it" }
                    input #text name="text" type="text" autocomplete="off" required;
                    label.check { input name="force" type="checkbox" value="true"; " even at a prompt, as an answer" }
                    button type="submit" { "Send" }
                }
                p.hint { "In a terminal: " code { "anyhook agent attach " (agent.shown_name()) } }
            }
        }
    }
}

/// Returns the last records of an agent's session.
async fn last_records(app: &App, agent: &AgentView) -> Option<RecordPage> {
    let search = RecordSearch {
        session: Some(agent.session.clone()?),
        host: agent.host.clone(),
        ..RecordSearch::default()
    };
    journal::find(app, ReadQuery { search, ..ReadQuery::default() }, LAST).await.ok()
}

fn events(agent: &AgentView, last: Option<&RecordPage>) -> Markup {
    let Some((last, session)) = last.zip(agent.session.as_deref()) else {
        return Markup::default();
    };
    let host = agent.host.as_deref().map(|host| ("host", host));
    let all = with_query("/journal", host.into_iter().chain([("session", session)]));
    html! {
        h2 #events { "Last events" }
        @if last.records.is_empty() { p.hint { "There are none in the journal." } }
        @else { (super::journal::table(&last.records)) }
        p { a href=(all) { "All in the journal" } }
    }
}

/// How long an agent has waited for a person.
fn waited(agent: &AgentView, decisions: &[DecisionView]) -> Markup {
    let of_agent = decisions.iter().filter(|one| one.inquiry.agent == agent.id);
    let (count, waited) = of_agent
        .fold((0_u64, 0_u64), |(count, sum), one| (count + 1, sum.saturating_add(one.waited_ms)));
    html! {
        @if let AgentState::Prompting(_) = agent.full_state() { dt { "Waiting for you" } dd { (ago(agent.since)) } }
        @if count > 0 { dt { "Waited in all" } dd { (span(waited)) ", for " (many(count, "decision")) } }
    }
}

fn tokens(used: Option<&AgentUsage>) -> Markup {
    let usage = used.map(|used| used.usage).unwrap_or_default();
    let cost = used.and_then(|used| used.cost).map(|cost| format!("{cost:.2}"));
    html! {
        @for (name, value) in [
            ("Prompts", usage.turns),
            ("Tokens in", usage.input_tokens),
            ("Tokens out", usage.output_tokens),
            ("From the cache", usage.cache_read_tokens),
        ] {
            (fact(name, value.map(thousands).as_deref()))
        }
        (fact("Cost", cost.as_deref()))
    }
}

/// A line for an agent's terminal.
#[derive(Deserialize)]
pub struct Line {
    text: String,
    #[serde(default)]
    force: bool,
}

/// Types a line into an agent's terminal.
pub async fn send(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
    Form(Line { text, force }): Form<Line>,
) -> Result<Response, Failed> {
    let keys = async {
        let agent = app.agent(&id).await?.id;
        let keys = SendKeys { agent, text, force, by: caller.name() };
        app.ask(Request::Send(Box::new(keys))).await
    };
    match keys.await {
        Ok(_) => Ok(Redirect::to(&format!("/agents/{}", in_path(&id))).into_response()),
        Err(error) => Err(Failed(error, caller)),
    }
}
