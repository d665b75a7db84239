//! The inbox: what waits for a person, in full, and the answers.

use std::sync::Arc;

use anyhook_flow::approval_requests::{ALLOW, ended};
use anyhook_model::approval_request::{AgentQuestion, ApprovalKind, DECLINE, StandingAnswer};
use anyhook_model::daemon::{AgentView, DecisionView, Request};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::Failed;
use super::call;
use super::form::Fields;
use super::layout::{PageHead, csrf, page};
use super::parts::{ago, empty, folder_name, in_path, left, span};
use crate::api::decisions::{Answer, change_claim, resolve};
use crate::api::input::Name;
use crate::api::standing;
use crate::app::App;
use crate::error::PageError;
use crate::guard::Caller;

/// How many decisions that were made are shown.
const MADE: usize = 30;

/// Shows what waits for a person.
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Markup, Failed> {
    let known = async { Ok((app.agents().await?, app.decisions().await?, app.standing().await?)) };
    let (agents, decisions, standing) = match known.await {
        Ok(known) => known,
        Err(error) => return Err(Failed(error, caller)),
    };
    let (open, mut made): (Vec<_>, Vec<_>) =
        decisions.iter().partition(|decision| decision.resolution.is_none());
    made.reverse();
    let mut cards = Vec::new();
    for decision in &open {
        let agent = agents.iter().find(|agent| agent.id == decision.inquiry.agent);
        cards.push(card(&app, &caller, decision, agent).await);
    }
    let content = html! {
        h1 { "Inbox" }
        @if open.is_empty() {
            (empty("Nothing waits for you", &html! {
                "A decision appears here when an agent asks for permission, a hook asks, or a "
                "pipeline stops at a gate. Agents wait for answers from here if "
                code { "[decisions] wait" } " in " code { "anyhook.toml" } " says so."
            }))
        }
        div #open { @for card in &cards { (card) } }
        (standing_answers(&caller, &standing, &agents))
        @if !made.is_empty() {
            h2 { "Answered" }
            ul.plain #answered { @for decision in made.iter().take(MADE) { (line(decision)) } }
        }
    };
    let head = PageHead { section: "/decisions", title: "Inbox", follows: "decisions" };
    Ok(page(&app, &caller, head, &content).await)
}

/// The calls that are allowed for the rest of a session, and how to change that.
fn standing_answers(caller: &Caller, all: &[StandingAnswer], agents: &[AgentView]) -> Markup {
    let shown_agent = |answer: &StandingAnswer| {
        let agent = agents.iter().find(|agent| agent.id == answer.agent);
        agent.map_or(answer.agent.as_str(), AgentView::shown_name).to_owned()
    };
    html! {
        @if !all.is_empty() {
            h2 #allowed { "Allowed again in this session" }
            ul.plain #standing {
                @for answer in all {
                    li data-key={"standing-" (answer.id)} {
                        a href={"/agents/" (in_path(&answer.agent))} { (shown_agent(answer)) } " "
                        @match (&answer.tool, &answer.about) {
                            (Some(tool), Some(about)) => { code { (tool) ": " (about) } },
                            _ => { (answer.question) },
                        }
                        " " span.hint { "allowed by " (answer.by) " " (ago(answer.since)) " ago, used " (answer.used) " times" }
                        " "
                        form.inline #{"revoke-" (answer.id)} method="post" action={"/standing/" (in_path(answer.id.as_str())) "/revoke"} {
                            (csrf(caller))
                            button.quiet type="submit" { "Revoke" span.unseen { " this answer" } }
                        }
                    }
                }
            }
        }
    }
}

/// Revokes a standing answer.
pub async fn revoke(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Response, Failed> {
    match standing::revoke(&app, &caller, &id).await {
        Ok(_) => Ok(Redirect::to("/decisions#allowed").into_response()),
        Err(error) => Err(Failed(error, caller)),
    }
}

/// Shows one decision.
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Markup, Failed> {
    match detail(&app, &caller, &id).await {
        Ok(content) => {
            let title = format!("Decision {id}");
            let head = PageHead { section: "/decisions", title: &title, follows: "decisions" };
            Ok(page(&app, &caller, head, &content).await)
        }
        Err(error) => Err(Failed(error, caller)),
    }
}

async fn detail(app: &App, caller: &Caller, id: &str) -> Result<Markup, PageError> {
    let decision = app.decision(id).await?;
    let agent = app.agent(&decision.inquiry.agent).await.ok();
    Ok(html! {
        h1 { "Decision " (decision.inquiry.id) }
        (card(app, caller, &decision, agent.as_ref()).await)
    })
}

/// A decision in one line: how it ended.
pub fn line(decision: &DecisionView) -> Markup {
    let inquiry = &decision.inquiry;
    html! {
        li data-key={"made-" (inquiry.id)} {
            a href={"/decisions/" (inquiry.id)} { (decision.shown_agent()) }
            " " (about(decision)) " "
            @if let Some(resolution) = &decision.resolution {
                span.chip.(tone(decision)) { (ended(resolution)) }
                " after " (span(decision.waited_ms)) ", " (ago(resolution.at)) " ago"
            }
        }
    }
}

fn about(decision: &DecisionView) -> Markup {
    let inquiry = &decision.inquiry;
    html! {
        @match (&inquiry.tool, &inquiry.about) {
            (Some(tool), Some(about)) => { code { (tool) ": " (about) } },
            _ => { (inquiry.question) },
        }
    }
}

fn tone(decision: &DecisionView) -> &'static str {
    let choice = decision.resolution.as_ref().and_then(|made| made.choice.as_deref());
    match choice {
        Some(ALLOW) => "good",
        Some("deny" | DECLINE | "fail") => "bad",
        _ => "over",
    }
}

/// A decision with everything that a person needs for it.
pub async fn card(
    app: &App,
    caller: &Caller,
    decision: &DecisionView,
    agent: Option<&AgentView>,
) -> Markup {
    let inquiry = &decision.inquiry;
    let folder = agent.and_then(|agent| agent.work_dir.clone());
    let calls = call::all(&app.places, &inquiry.calls, folder).await;
    html! {
        article.decision #{"decision-" (inquiry.id)} data-key={"decision-" (inquiry.id)} tabindex="0"
            aria-labelledby={"question-" (inquiry.id)} data-open[decision.resolution.is_none()] {
            header {
                h2 #{"question-" (inquiry.id)} { (inquiry.question) }
                p.meta {
                    span { a href={"/agents/" (in_path(&inquiry.agent))} { (decision.shown_agent()) } }
                    @if let Some(project) = &decision.project {
                        span title=(project) { (folder_name(project)) }
                    }
                    span { (kind(inquiry.kind)) }
                    @if let Some(hook) = &inquiry.hook { span { "hook " code { (hook) } } }
                    span { "asked " (ago(inquiry.created)) " ago" }
                    @if let (None, Some(until)) = (&decision.resolution, inquiry.until) {
                        span { "waits " (left(until)) " more" }
                    }
                    span { a href={"/decisions/" (inquiry.id)} { (inquiry.id) } }
                }
            }
            @if inquiry.calls.is_empty() && inquiry.questions.is_empty() {
                @if let Some(about) = &inquiry.about { pre { (about) } }
            }
            (calls)
            @match &decision.resolution {
                Some(resolution) => {
                    p.ending #{"ending-" (inquiry.id)} { span.chip.(tone(decision)) { (ended(resolution)) }
                        " after " (span(decision.waited_ms)) }
                    @if let Some(message) = &resolution.message { blockquote { (message) } }
                }
                None => { (form(caller, decision)) }
            }
        }
    }
}

fn kind(kind: ApprovalKind) -> &'static str {
    match kind {
        ApprovalKind::Permission => "the agent asks for permission",
        ApprovalKind::Ask => "a hook asks",
        ApprovalKind::Question => "the agent asks you",
        ApprovalKind::Escalation => "the agent asks for help",
        ApprovalKind::Gate => "a workflow is at a gate",
    }
}

/// The buttons, and what an answer may contain.
fn form(caller: &Caller, decision: &DecisionView) -> Markup {
    let inquiry = &decision.inquiry;
    let id = &inquiry.id;
    let can_stand = matches!(inquiry.kind, ApprovalKind::Permission | ApprovalKind::Ask)
        && inquiry.digest.is_some();
    // The answers of a single question are options, too; here they are fields.
    let is_button = |name: &str| inquiry.questions.is_empty() || name == DECLINE;
    let buttons = inquiry.options.iter().filter(|option| is_button(&option.name));
    html! {
        @if let Some(claim) = &decision.claimed {
            p.notice.warn { (claim.by) " is about to answer this." }
        }
        form.answer #{"answer-" (id)} method="post" action={"/decisions/" (id) "/answer"} {
            (csrf(caller))
            @if let Some(digest) = &inquiry.digest { input type="hidden" name="digest" value=(digest); }
            @for (number, question) in inquiry.questions.iter().enumerate() {
                (fields(id.as_str(), number, question))
            }
            @if can_stand {
                label.check {
                    input name="again" type="checkbox" value="true";
                    " allow exactly this call again in this session"
                }
            }
            details #{"more-" (id)} {
                summary { "Add a message" }
                label for={"message-" (id)} { "The agent is told" }
                textarea #{"message-" (id)} name="message" rows="2" maxlength="4000" {}
            }
            div.buttons {
                @if !inquiry.questions.is_empty() {
                    button.primary type="submit" name="choice" value="" data-number="1" { "Answer" }
                }
                @for (number, option) in buttons.enumerate() {
                    @let number = number + 1 + usize::from(!inquiry.questions.is_empty());
                    button.(button_tone(&option.name)) type="submit" name="choice" value=(option.name)
                        title=(option.does) data-number=(number) {
                        (option.name) " " kbd aria-hidden="true" { (number) }
                    }
                }
            }
        }
        @if decision.claimed.is_none() {
            form.inline #{"claim-" (id)} method="post" action={"/decisions/" (id) "/claim"} {
                (csrf(caller)) button.quiet type="submit" { "I take this" }
            }
        } @else {
            form.inline #{"claim-" (id)} method="post" action={"/decisions/" (id) "/release"} {
                (csrf(caller)) button.quiet type="submit" { "Leave it to others" }
            }
        }
    }
}

fn button_tone(option: &str) -> &'static str {
    match option {
        ALLOW | "done" | "approve" | "retry" => "primary",
        "deny" | "fail" | "reject" | DECLINE => "danger",
        _ => "plain",
    }
}

fn fields(id: &str, number: usize, question: &AgentQuestion) -> Markup {
    let kind = if question.multiple { "checkbox" } else { "radio" };
    html! {
        fieldset {
            legend {
                @if let Some(header) = &question.header { strong { (header) ": " } }
                (question.text)
            }
            @for (index, option) in question.options.iter().enumerate() {
                label.check {
                    input type=(kind) name={"q" (number)} value=(index + 1);
                    " " (option.name)
                    @if !option.does.is_empty() { " " span.hint { (option.does) } }
                }
            }
            @if question.free_text {
                label for={"q" (number) "-" (id)} { "In your own words" }
                input #{"q" (number) "-" (id)} type="text" name={"q" (number) "_text"} autocomplete="off";
            }
        }
    }
}

/// Answers a decision.
pub async fn answer(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
    body: Bytes,
) -> Result<Response, Failed> {
    let answered = async {
        let decision = app.decision(&id).await?;
        let answer = read_answer(&Fields::read(&body).await?, decision.inquiry.questions.len())?;
        resolve(&app, &caller, &id, answer).await
    };
    match answered.await {
        Ok(resolution) => {
            Ok(Redirect::to(&format!("/decisions/{}", in_path(resolution.id.as_str())))
                .into_response())
        }
        Err(error) => Err(Failed(error, caller)),
    }
}

/// Reads the answer in a form: the button that was pressed, or the answers to the questions.
fn read_answer(fields: &Fields, questions: usize) -> Result<Answer, PageError> {
    let text = |name: &str| fields.one(name).map(str::to_owned);
    let choice = text("choice").unwrap_or_default();
    let mut answers = Vec::new();
    if choice.is_empty() {
        for number in 0..questions {
            let own = fields.one(&format!("q{number}_text")).map(str::trim).unwrap_or_default();
            let chosen: Vec<&str> = fields.all(&format!("q{number}")).collect();
            let answer = if own.is_empty() { chosen.join(",") } else { own.to_owned() };
            if answer.is_empty() {
                let message = format!("question {} has no answer", number + 1);
                return Err(PageError::bad_request(message));
            }
            answers.push(answer);
        }
    } else {
        answers.push(choice);
    }
    let mut answers = answers.into_iter();
    let Some(choice) = answers.next() else {
        return Err(PageError::bad_request("no answer was chosen"));
    };
    Ok(Answer {
        choice,
        more: answers.collect(),
        message: text("message"),
        again: fields.one("again") == Some("true"),
        digest: text("digest"),
    })
}

/// Tells others that someone is about to answer.
pub async fn claim(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Response, Failed> {
    claimed(&app, caller, id, Request::Claim).await
}

/// Takes a claim back.
pub async fn release(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Response, Failed> {
    claimed(&app, caller, id, Request::Release).await
}

async fn claimed(
    app: &App,
    caller: Caller,
    id: String,
    request: fn(anyhook_model::daemon::ClaimRequest) -> Request,
) -> Result<Response, Failed> {
    match change_claim(app, &caller, id, request).await {
        Ok(decision) => {
            let id = in_path(decision.inquiry.id.as_str());
            Ok(Redirect::to(&format!("/decisions/{id}")).into_response())
        }
        Err(error) => Err(Failed(error, caller)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tokens::Scope;

    #[test]
    fn a_standing_answer_is_shown_with_a_way_to_revoke_it() {
        let evil = "<script>x</script>\"";
        let answer: StandingAnswer = serde_json::from_value(json!({
            "id": "7k2m9x4q", "kind": "permission", "agent": evil, "question": evil, "tool": "Shell",
            "about": evil, "digest": "d", "by": evil, "since": "2026-01-31T09:00:00Z", "used": 3,
        }))
        .unwrap();
        let caller = Caller::Program { name: "x".to_owned(), scope: Scope::Answer };
        let shown = standing_answers(&caller, &[answer], &[]).into_string();
        assert!(shown.contains("action=\"/standing/7k2m9x4q/revoke\""), "{shown}");
        assert!(shown.contains("used 3 times") && !shown.contains("<script>"), "{shown}");
        assert_eq!(standing_answers(&caller, &[], &[]).into_string(), "");
    }
}
