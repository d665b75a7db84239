//! Hooks: which are in force where, how they fare, and what was proven of the agents.

use std::sync::Arc;

use anyhook_hosts::AGENTS;
use anyhook_model::json::{shorten, to_spaced};
use anyhook_model::report::ListedHook;
use anyhook_terminal::format::{milliseconds, thousands};
use axum::Extension;
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::Failed;
use super::layout::{PageHead, page};
use super::parts::{ago, empty, folder_name, in_path, tone, with_query};
use crate::api::input::Parameters;
use crate::app::App;
use crate::error::PageError;
use crate::guard::Caller;
use crate::hooks::{self, AgentStanding, HookHealth, HookInForce, ProjectHooks};

/// A matcher is cut to this length.
const MATCHER: usize = 100;

/// Which hooks are shown.
#[derive(Deserialize)]
pub struct Asked {
    project: Option<String>,
    host: Option<String>,
}

/// Shows the hooks of a project.
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Markup, Failed> {
    let set = |value: Option<String>| value.filter(|value| !value.trim().is_empty());
    let (project, host) = (set(asked.project), set(asked.host));
    let read = async {
        let projects = hooks::projects(&app).await?;
        if let Some(unknown) =
            host.as_deref().filter(|host| AGENTS.iter().all(|it| it.id() != *host))
        {
            return Err(PageError::unknown("agent", unknown).hint("anyhook hosts"));
        }
        let project = hooks::chosen(&projects, project.as_deref())?;
        Ok((projects, hooks::of_project(&app, project, host.clone()).await?))
    };
    match read.await {
        Ok((projects, found)) => {
            let content = content(&projects, &found, host.as_deref());
            let head = PageHead { section: "/hooks", title: "Hooks", follows: "" };
            Ok(page(&app, &caller, head, &content).await)
        }
        Err(error) => Err(Failed(error, caller)),
    }
}

fn content(projects: &[String], found: &ProjectHooks, host: Option<&str>) -> Markup {
    html! {
        h1 { "Hooks" }
        (choice(projects, found.project.as_deref(), host))
        @for note in &found.notes { p.notice.warn { (note) } }
        @if found.is_cut {
            p.notice.warn { "The journal is long: only runs of the last " (ago(found.since)) " are counted." }
        }
        @if found.hooks.is_empty() {
            (empty("No hooks are in force here", &html! {
                code { "anyhook init" } " installs a set of guards; " code { "anyhook new my-hook --trigger before_tool" }
                " creates one of your own."
            }))
        } @else {
            p.hint { "Runs, failures and times of the last " (ago(found.since)) "." }
            div.table-wrap tabindex="0" role="region" aria-label="Hooks" {
                table.hooks {
                    thead { tr {
                        th scope="col" { "Hook" } th scope="col" { "Status" } th scope="col" { "Runs at" }
                        th scope="col" { "Last ran" } th.number scope="col" { "Runs" }
                        th.number scope="col" { "Failed" } th.number scope="col" { "p95" } th scope="col" { "Did" }
                    } }
                    tbody { @for hook in &found.hooks { (row(hook)) } }
                }
            }
            (findings(&found.hooks))
        }
        (standings(&found.agents))
    }
}

fn choice(projects: &[String], project: Option<&str>, host: Option<&str>) -> Markup {
    html! {
        form.filters #choice method="get" action="/hooks" {
            div.fields {
                div {
                    label for="project" { "Project" }
                    select #project name="project" {
                        @if projects.is_empty() { option value="" { "none seen yet: your own hooks" } }
                        @for one in projects {
                            option value=(one) selected[Some(one.as_str()) == project] { (folder_name(one)) " – " (one) }
                        }
                    }
                }
                div {
                    label for="host" { "Agent" }
                    select #host name="host" {
                        option value="" { "any" }
                        @for agent in AGENTS {
                            option value=(agent.id()) selected[Some(agent.id()) == host] { (agent.title) }
                        }
                    }
                }
                div.act { button type="submit" { "Show" } }
            }
        }
    }
}

fn row(in_force: &HookInForce) -> Markup {
    let HookInForce { hook, health, .. } = in_force;
    let name = hook.name.as_str();
    html! {
        tr data-key={"hook-" (hook.folder)} {
            th scope="row" {
                a href=(with_query("/journal", [("hook", name)])) title=(hook.folder) { (name) }
                div.hint { (hook.level) @if hook.trust == "trusted" { ", trusted" } }
            }
            td { span.chip.(tone(in_force.tone.0)) { (in_force.status) } }
            td { (triggers(hook)) }
            td { @match health.as_ref().and_then(|health| health.last_run) {
                Some(last) => { (ago(last)) " ago" },
                None => { span.hint { "never" } },
            } }
            @match health {
                Some(health) => (counts(name, health)),
                None => { td.number { "0" } td.number { "–" } td.number { "–" } td { span.hint { "–" } } },
            }
        }
    }
}

fn triggers(hook: &ListedHook) -> Markup {
    let definition = &hook.definition;
    let names: Vec<&str> =
        definition.triggers.iter().map(|trigger| trigger.kind.name(trigger.spelling)).collect();
    let matcher = to_spaced(&definition.matcher);
    html! {
        (names.join(", "))
        @if matcher != "{}" { " " code.matcher title=(matcher) { (shorten(&matcher, MATCHER)) } }
        @if !definition.hosts.is_empty() { div.hint { "only " (definition.hosts.join(", ")) } }
    }
}

fn counts(name: &str, health: &HookHealth) -> Markup {
    let failed = with_query("/journal", [("hook", name), ("verdict", "failed")]);
    html! {
        td.number { (thousands(health.runs)) }
        td.number {
            @if health.failures == 0 { "0" }
            @else { a href=(failed) { (thousands(health.failures)) } " (" (percent(health.failures, health.runs)) ")" }
        }
        td.number { @match &health.time { Some(time) => { (milliseconds(time.p95_us)) }, None => { "–" } } }
        td { (did(health)) }
    }
}

/// What a hook did, or would have done.
fn did(health: &HookHealth) -> Markup {
    html! {
        @if health.blocks > 0 { span { "blocked " (thousands(health.blocks)) } " " }
        @if health.asks > 0 { span { "asked " (thousands(health.asks)) } " " }
        @if health.timeouts > 0 { span.chip.bad { (thousands(health.timeouts)) " timeouts" } " " }
        @if let Some(shadow) = &health.shadow {
            details {
                summary { "would have blocked " (thousands(shadow.would_block)) " of " (thousands(shadow.runs)) }
                @if shadow.would_ask > 0 { p { "would have asked " (thousands(shadow.would_ask)) } }
                @if shadow.would_block_by_failure > 0 { p { (thousands(shadow.would_block_by_failure)) " of them by failing" } }
                ul.plain { @for one in &shadow.last {
                    li { a href={"/journal/" (in_path(one.id.as_str()))} { (ago(one.at)) " ago" } " "
                        code { (shorten(&one.about, 120)) } " " span.hint { (shorten(&one.reason, 200)) } }
                } }
            }
        }
        @if health.blocks == 0 && health.asks == 0 && health.timeouts == 0 && health.shadow.is_none() { span.hint { "–" } }
    }
}

fn percent(part: u64, whole: u64) -> String {
    match part.saturating_mul(100).checked_div(whole) {
        Some(0) if part > 0 => "under 1 %".to_owned(),
        Some(percent) => format!("{percent} %"),
        None => "–".to_owned(),
    }
}

fn findings(hooks: &[HookInForce]) -> Markup {
    let with: Vec<&HookInForce> =
        hooks.iter().filter(|hook| !hook.hook.problems.is_empty()).collect();
    html! {
        @if !with.is_empty() {
            h2 { "Findings" }
            @for HookInForce { hook, .. } in with {
                details data-key={"findings-" (hook.folder)} open[hook.problems.iter().any(|one| is_bad(&one.severity))] {
                    summary { code { (hook.name) } " " span.hint { (hook.problems.len()) } }
                    ul.plain {
                        @for finding in &hook.problems {
                            li {
                                span.chip.(if is_bad(&finding.severity) { "bad" } else { "over" }) { (finding.severity) } " "
                                @if let Some(line) = finding.line { span.hint { "line " (line) ": " } }
                                (finding.message)
                                @if let Some(hint) = &finding.hint { div.hint { "Next: " code { (hint) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn is_bad(severity: &str) -> bool {
    matches!(severity, "error" | "unusable")
}

fn standings(agents: &[AgentStanding]) -> Markup {
    html! {
        h2 { "Agents that call anyhook" }
        @if agents.is_empty() {
            p.hint { "None does: no hook is asked about anything. " code { "anyhook init" } " installs it." }
        } @else {
            div.table-wrap tabindex="0" role="region" aria-label="Agents that call anyhook" {
                table {
                    thead { tr { th scope="col" { "Agent" } th scope="col" { "Settings" } th scope="col" { "Proven" } } }
                    tbody { @for agent in agents { tr {
                        th scope="row" { (agent.title) }
                        td { @match &agent.project { Some(project) => { "of " span title=(project) { (folder_name(project)) } }, None => { "yours" } } }
                        td {
                            @match (agent.proven, &agent.doubt) {
                                (Some(at), _) => {
                                    span.chip.good { "proven" } " " (ago(at)) " ago"
                                    @if agent.was_run { ", by running it" }
                                },
                                (None, Some(doubt)) => { span.chip.wait { "not proven" } " " (doubt) },
                                (None, None) => { span.chip.wait { "not proven" } },
                            }
                        }
                    } } }
                }
            }
            p.hint { code { "anyhook doctor --prove" } " sends each of them a call that must be denied." }
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhook_model::HookDefinition;
    use anyhook_model::RecordId;
    use anyhook_model::report::Finding;
    use anyhook_model::report::stats::{ShadowBlock, ShadowStats};
    use anyhook_terminal::Tone;
    use jiff::Timestamp;

    use super::*;
    use crate::hooks::StatusTone;

    const EVIL: &str = "<svg onload=alert(1)>\"'";

    fn hook() -> HookInForce {
        let shadow = ShadowStats {
            runs: 812,
            would_block: 3,
            last: vec![ShadowBlock {
                id: RecordId::from_text("a"),
                at: Timestamp::UNIX_EPOCH,
                host: EVIL.to_owned(),
                about: EVIL.to_owned(),
                reason: EVIL.to_owned(),
                failed: false,
            }],
            ..ShadowStats::default()
        };
        HookInForce {
            hook: ListedHook {
                name: EVIL.to_owned(),
                level: "user".to_owned(),
                folder: EVIL.to_owned(),
                definition: HookDefinition::named(EVIL),
                trust: "not_needed".to_owned(),
                usable: true,
                left_out: None,
                problems: vec![Finding {
                    code: "script".to_owned(),
                    severity: "error".to_owned(),
                    message: EVIL.to_owned(),
                    hint: Some(EVIL.to_owned()),
                    line: Some(3),
                    column: None,
                }],
            },
            status: "ready, shadow".to_owned(),
            tone: StatusTone(Tone::Good),
            health: Some(HookHealth {
                runs: 1000,
                blocks: 0,
                asks: 0,
                failures: 4,
                timeouts: 0,
                time: None,
                last_run: Some(Timestamp::UNIX_EPOCH),
                shadow: Some(shadow),
            }),
        }
    }

    #[test]
    fn a_hook_is_shown_with_its_health_and_nothing_of_it_is_markup() {
        let found = ProjectHooks {
            project: Some(EVIL.to_owned()),
            since: Timestamp::UNIX_EPOCH,
            is_cut: false,
            hooks: vec![hook()],
            agents: Vec::new(),
            notes: vec![EVIL.to_owned()],
        };
        let shown = content(&[EVIL.to_owned()], &found, None).into_string();
        assert!(!shown.contains("<svg"), "{shown}");
        for text in
            ["would have blocked 3 of 812", "under 1 %", "line 3", "ready, shadow", "None does"]
        {
            assert!(shown.contains(text), "{text}: {shown}");
        }
    }

    #[test]
    fn shares_are_whole_percents() {
        for (part, whole, expected) in
            [(0, 10, "0 %"), (1, 2, "50 %"), (1, 1000, "under 1 %"), (0, 0, "–")]
        {
            assert_eq!(percent(part, whole), expected, "{part} of {whole}");
        }
    }
}
