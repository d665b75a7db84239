//! Statistics: how events were answered, how long people and hooks took, what agents have used.

use std::sync::Arc;

use anyhook_model::daemon::Usage;
use anyhook_model::report::StatsReport;
use anyhook_model::report::stats::{HookStats, TimeStats};
use anyhook_terminal::format::{span, thousands};
use axum::Extension;
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::Failed;
use super::layout::{PageHead, page};
use super::parts::{ago, empty, folder_name, in_path, problems, with_query};
use super::plot::{Series, over_time, share};
use crate::api::input::Parameters;
use crate::app::App;
use crate::guard::Caller;
use crate::stats::{self, AgentUsage, Statistics, by_project, periods};

/// How many hooks are shown.
const HOOKS: usize = 12;

/// The period.
#[derive(Deserialize)]
pub struct Asked {
    since: Option<String>,
}

/// Shows statistics.
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Markup, Failed> {
    let asked = asked.since.filter(|since| !since.trim().is_empty());
    let content = match stats::since(asked.as_deref(), anyhook_engine::now()) {
        Err(error) => problems(&[error.message]),
        Ok(since) => match stats::count(&app, since).await {
            Ok(counted) => content(&counted),
            Err(error) => return Err(Failed(error, caller)),
        },
    };
    let content = html! { h1 { "Statistics" } (choice(asked.as_deref())) (content) };
    let head = PageHead { section: "/stats", title: "Statistics", follows: "" };
    Ok(page(&app, &caller, head, &content).await)
}

fn choice(asked: Option<&str>) -> Markup {
    let asked = asked.unwrap_or("7d");
    html! {
        form.filters #period method="get" action="/stats" {
            div.search {
                label for="since" { "Since" }
                input #since type="text" name="since" value=(asked) list="periods" autocomplete="off"
                    placeholder="24h, 7d, 2026-01-31";
                datalist #periods { @for (value, name) in periods() { option value=(value) { (name) } } }
                button type="submit" { "Show" }
            }
            p.choices {
                @for (value, name) in periods() {
                    a href={"/stats?since=" (value)} aria-current=[(value == asked).then_some("true")] { (name) } " "
                }
            }
        }
    }
}

fn content(counted: &Statistics) -> Markup {
    let report = &counted.report;
    // What anyhook itself reports is no answer to anyone.
    let verdicts = &report.verdicts;
    let answered = verdicts.denied.iter().chain(&verdicts.asked).chain(&verdicts.passed);
    if answered.sum::<u64>() == 0 && report.waiting.is_none() && counted.usage.is_empty() {
        return empty(
            "Nothing happened in this time",
            &html! {
                "Choose a longer time, or see the " a href="/journal" { "journal" } "."
            },
        );
    }
    html! {
        @if let Some(reached) = report.steps.as_ref().filter(|_| counted.is_cut) {
            p.notice.warn {
                "The journal is long: only what happened in the last " (ago(reached.start)) " was counted. "
                code { "anyhook stats" } " counts all of it."
            }
        }
        (summary(report))
        (answers(report))
        (waiting(report))
        (slowest(report))
        (tokens(&counted.usage))
    }
}

fn summary(report: &StatsReport) -> Markup {
    html! {
        ul.numbers {
            li { strong { (thousands(report.records)) } " records" }
            li { strong { (thousands(report.sessions)) } " sessions" }
            @let denials: u64 = report.verdicts.denied.iter().sum();
            li { strong { (thousands(denials)) } " denied" }
            @let asked: u64 = report.verdicts.asked.iter().sum();
            li { strong { (thousands(asked)) } " asked" }
            @if report.redacted_records > 0 { li { strong { (thousands(report.redacted_records)) } " with redacted secrets" } }
        }
        @if report.denied_but_ran > 0 {
            div.notice.bad {
                p { (thousands(report.denied_but_ran)) " calls ran although they were denied:" }
                ul { @for one in &report.denied_but_ran_last {
                    li { a href={"/journal/" (in_path(one.id.as_str()))} { (ago(one.at)) " ago" } " " (one.host) " " code { (one.about) } }
                } }
            }
        }
        @if !report.always_failing.is_empty() {
            p.notice.warn { "These hooks always fail: "
                @for hook in &report.always_failing { code { (hook) } " " }
                "– " a href="/hooks" { "see why" } }
        }
        @if report.damaged_lines > 0 {
            p.notice.warn { (thousands(report.damaged_lines)) " lines of the journal are not records: " code { "anyhook verify" } }
        }
    }
}

fn answers(report: &StatsReport) -> Markup {
    let verdicts = &report.verdicts;
    let series = [
        Series { class: "passed", name: "let through", numbers: &verdicts.passed },
        Series { class: "asked", name: "asked", numbers: &verdicts.asked },
        Series { class: "denied", name: "denied", numbers: &verdicts.denied },
    ];
    html! {
        h2 { "Answers to agents" }
        @match &report.steps {
            Some(steps) => (over_time("Events, by answer", steps, &series)),
            None => { p.hint { "No agent has sent an event." } },
        }
    }
}

fn waiting(report: &StatsReport) -> Markup {
    html! {
        h2 { "Waiting for people" }
        @match &report.waiting {
            None => { p.hint { "Nothing waited for a person." } },
            Some(waiting) => {
                p { (thousands(waiting.all.count)) " decisions waited for " strong { (span(waiting.all.total_us)) }
                    " altogether; half of them no longer than " (span(waiting.all.p50_us)) ", the longest for " (span(waiting.all.max_us)) "." }
                @let most = waiting.agents.iter().map(|one| one.time.total_us).max().unwrap_or(0);
                div.table-wrap tabindex="0" role="region" aria-label="Waiting for people, by agent" {
                    table.shares {
                        thead { tr { th scope="col" { "Agent" } th.number scope="col" { "Decisions" } th.number scope="col" { "Altogether" }
                            th.number scope="col" { "p50" } th.number scope="col" { "Longest" } td {} } }
                        tbody { @for one in waiting.agents.iter().take(HOOKS) {
                            tr { th scope="row" { (one.name) }
                                td.number { (thousands(one.time.count)) } td.number { (span(one.time.total_us)) }
                                td.number { (span(one.time.p50_us)) } td.number { (span(one.time.max_us)) }
                                td.bar { (share("asked", one.time.total_us, most)) } }
                        } }
                    }
                }
            },
        }
    }
}

fn slowest(report: &StatsReport) -> Markup {
    let mut hooks: Vec<(&HookStats, &TimeStats)> =
        report.hooks.iter().filter_map(|hook| Some((hook, hook.all.time.as_ref()?))).collect();
    hooks.sort_by_key(|(_, time)| std::cmp::Reverse(time.p95_us));
    let most = hooks.first().map_or(0, |(_, time)| time.p95_us);
    html! {
        h2 { "Slowest hooks" }
        @if hooks.is_empty() { p.hint { "No hook ran." } }
        @else {
            div.table-wrap tabindex="0" role="region" aria-label="Slowest hooks" {
                table.shares {
                    thead { tr { th scope="col" { "Hook" } th.number scope="col" { "Runs" } th.number scope="col" { "p50" }
                        th.number scope="col" { "p95" } th.number scope="col" { "Slowest" } td {} } }
                    tbody { @for (hook, time) in hooks.iter().take(HOOKS) {
                        tr { th scope="row" { a href=(with_query("/journal", [("hook", hook.hook.as_str())])) { (hook.hook) } }
                            td.number { (thousands(hook.all.runs)) } td.number { (span(time.p50_us)) }
                            td.number { (span(time.p95_us)) }
                            td.number { @match hook.slowest_runs.first() {
                                Some(run) => { a href={"/journal/" (in_path(run.id.as_str()))} { (span(run.took_us)) } },
                                None => { (span(time.max_us)) },
                            } }
                            td.bar { (share("slow", time.p95_us, most)) (share("usual", time.p50_us, most)) } }
                    } }
                }
            }
            p.hint { "The upper bar is p95, the lower one p50." }
        }
    }
}

fn tokens(all: &[AgentUsage]) -> Markup {
    let mut agents: Vec<&AgentUsage> = all.iter().collect();
    agents.sort_by_key(|one| std::cmp::Reverse(sum(one.usage)));
    let most = agents.first().map_or(0, |one| sum(one.usage));
    let projects = by_project(all);
    let most_of_project = projects.values().map(|one| sum(one.usage)).max().unwrap_or(0);
    html! {
        h2 { "Tokens and cost" }
        @if all.is_empty() {
            p.hint { "None of the agents that were seen says in its transcript what it uses." }
        } @else {
            h3 { "By project" }
            div.table-wrap tabindex="0" role="region" aria-label="Tokens by project" {
                table.shares {
                    (heads("Project"))
                    tbody { @for (project, one) in &projects {
                        tr { th scope="row" title=(project) { (folder_name(project)) } (cells(one.usage, one.cost))
                            td.bar { (share("usual", sum(one.usage), most_of_project)) } }
                    } }
                }
            }
            h3 { "By agent" }
            div.table-wrap tabindex="0" role="region" aria-label="Tokens by agent" {
                table.shares {
                    (heads("Agent"))
                    tbody { @for one in agents {
                        tr { th scope="row" { a href={"/agents/" (in_path(&one.agent))} { (one.name) } } (cells(one.usage, one.cost))
                            td.bar { (share("usual", sum(one.usage), most)) } }
                    } }
                }
            }
            p.hint { "Of each agent since its session began, according to its transcript. A cost is known where the pack "
                code { "budget" } " has " code { "prices" } "." }
        }
    }
}

fn heads(first: &str) -> Markup {
    html! { thead { tr { th scope="col" { (first) } th.number scope="col" { "In" } th.number scope="col" { "Out" }
    th.number scope="col" { "From the cache" } th.number scope="col" { "Cost" } td {} } } }
}

fn cells(usage: Usage, cost: Option<f64>) -> Markup {
    let number = |number: Option<u64>| number.map_or_else(|| "–".to_owned(), thousands);
    html! {
        td.number { (number(usage.input_tokens)) } td.number { (number(usage.output_tokens)) }
        td.number { (number(usage.cache_read_tokens)) }
        td.number { @match cost { Some(cost) => { (format!("{cost:.2}")) }, None => { "–" } } }
    }
}

/// Returns all tokens but those from the cache, which are counted again at every turn.
fn sum(usage: Usage) -> u64 {
    [usage.input_tokens, usage.output_tokens, usage.cache_write_tokens].into_iter().flatten().sum()
}

#[cfg(test)]
mod tests {
    use anyhook_engine::discover::InstalledHooks;
    use anyhook_model::{Decision, EventKind, Record, RecordId, RunOutcome, RunRecord};
    use anyhook_stats::{Tally, TallyScope, report};
    use jiff::Timestamp;

    use super::*;

    const EVIL: &str = "<iframe src=x>";

    fn counted() -> Statistics {
        let mut tally = Tally::new(TallyScope { keep: 3, ..TallyScope::default() });
        let id = RecordId::from_text("7k2m9x4q");
        let mut record = Record::new(id, Timestamp::UNIX_EPOCH, EVIL, EventKind::BeforeTool);
        record.verdict.effect = Some(anyhook_model::Effect::Deny);
        record.denied_by = Some(RecordId::from_text("a"));
        record.about = Some(EVIL.to_owned());
        record.runs.push(RunRecord {
            hook: EVIL.to_owned(),
            folder: String::new(),
            shadow: false,
            outcome: Some(RunOutcome::Exited(0)),
            decision: Decision::deny(EVIL),
            failure: None,
            notes: Vec::new(),
            stdout: String::new(),
            stderr: String::new(),
            took_us: 1500,
        });
        tally.take(&record);
        let installed = InstalledHooks::of(Vec::new());
        let wanted = report::HookSelection { installed: &installed, hooks: &[] };
        let report = report::make(&tally, &wanted, Timestamp::UNIX_EPOCH);
        let usage = AgentUsage {
            agent: EVIL.to_owned(),
            name: EVIL.to_owned(),
            host: None,
            project: Some(format!("/{EVIL}")),
            usage: Usage { input_tokens: Some(12_000), ..Usage::default() },
            cost: Some(0.126),
        };
        Statistics { report, is_cut: true, usage: vec![usage] }
    }

    #[test]
    fn numbers_are_text_and_names_are_escaped() {
        let shown = content(&counted()).into_string();
        assert!(!shown.contains("<iframe"), "{shown}");
        for text in [
            "1 denied",
            "1.5 ms",
            "12,000",
            "0.13",
            "As a table",
            "The journal is long",
            "calls ran although",
        ] {
            assert!(shown.contains(text), "{text}: {shown}");
        }
    }

    #[test]
    fn nothing_is_an_answer_too() {
        let none = Statistics {
            report: {
                let installed = InstalledHooks::of(Vec::new());
                let wanted = report::HookSelection { installed: &installed, hooks: &[] };
                report::make(&Tally::new(TallyScope::default()), &wanted, Timestamp::UNIX_EPOCH)
            },
            is_cut: false,
            usage: Vec::new(),
        };
        assert!(content(&none).into_string().contains("Nothing happened in this time"));
        assert!(choice(Some("\"><x")).into_string().contains("&quot;&gt;&lt;x"));
    }
}
