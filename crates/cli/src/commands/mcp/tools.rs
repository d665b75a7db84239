//! What each tool returns: the same as a command prints with `--json`, within limits.

use std::path::Path;
use std::str::FromStr;

use anyhook_model::daemon::{AgentView, DecisionView, Request, Response};
use anyhook_model::json::Object;
use anyhook_model::mcp::{
    FoundRecord, FoundRecords, HooksInForce, ListAgents, ListDecisions, ListPipelines,
    ListedAgents, ListedDecisions, ListedPipelines, ProjectHooks, STATES, SearchJournal, ShowAgent,
    ShowDecision, ShowRecord, ShownAgent, ShownDecision, ShownRecord, Stats,
};
use anyhook_model::report::StatsReport;
use anyhook_model::{Record, RecordId};
use anyhook_socket::ClientError;
use clap::ValueEnum;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::bounds::{finished, fit, fitting, limit, with_short_payload};
use crate::commands::agent;
use crate::commands::agent::list::AgentFilter;
use crate::commands::decision;
use crate::commands::decision::filter::DecisionFilter;
use crate::commands::list;
use crate::commands::log::filter::{RecordFilter, Verdicts};
use crate::commands::log::last::LastRecords;
use crate::commands::log::show;
use crate::commands::stats::{self, StatsArgs};
use crate::daemon::ask_if_it_runs;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::pages::events;

/// Calls a tool by its name.
pub fn call(
    tool: &str,
    arguments: Object,
    environment: &Environment,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Value, CommandError> {
    match tool {
        "list_agents" => with(arguments, |asked| list_agents(asked, environment)),
        "show_agent" => with(arguments, |asked| show_agent(&asked, environment, is_wanted)),
        "list_decisions" => with(arguments, |asked| list_decisions(asked, environment)),
        "show_decision" => with(arguments, |asked| show_decision(&asked, environment)),
        "search_journal" => with(arguments, |asked| search_journal(asked, environment, is_wanted)),
        "show_record" => with(arguments, |asked| show_record(&asked, environment)),
        "hooks_in_force" => with(arguments, |asked| hooks_in_force(asked, environment)),
        "list_pipelines" => with(arguments, |asked| list_pipelines(&asked, environment)),
        "stats" => with(arguments, |asked| stats(asked, environment)),
        _ => Err(CommandError::usage(format!("there is no tool `{tool}`"))),
    }
}

/// Reads a tool's arguments and finishes its result.
fn with<Arguments: DeserializeOwned, Output: Serialize>(
    arguments: Object,
    work: impl FnOnce(Arguments) -> Result<Output, CommandError>,
) -> Result<Value, CommandError> {
    let arguments = serde_json::from_value(Value::Object(arguments))
        .map_err(|error| CommandError::usage(format!("arguments: {error}")))?;
    finished(&work(arguments)?)
}

/// Reads an argument that has a form of its own.
fn parsed<T: FromStr<Err = String>>(
    name: &str,
    text: Option<String>,
) -> Result<Option<T>, CommandError> {
    let read =
        |text: String| text.parse().map_err(|why| CommandError::usage(format!("`{name}`: {why}")));
    text.map(read).transpose()
}

/// Returns the error of an argument that is not one of these words.
fn not_among(name: &str, word: &str, words: &[&str]) -> CommandError {
    CommandError::usage(format!("`{name}`: `{word}` is not one of {}", words.join(", ")))
}

fn agents(environment: &Environment) -> Result<Vec<AgentView>, CommandError> {
    match ask_if_it_runs(environment, &Request::Agents)? {
        Response::Agents(agents) => Ok(agents),
        _ => Err(ClientError::NoAnswer.into()),
    }
}

fn list_agents(asked: ListAgents, environment: &Environment) -> Result<ListedAgents, CommandError> {
    let ListAgents { all, state, project, host, limit } = asked;
    if let Some(other) = state.iter().find(|state| !STATES.contains(&state.as_str())) {
        return Err(not_among("state", other, &STATES));
    }
    let filter = AgentFilter {
        all,
        state,
        project: parsed("project", project)?,
        host: parsed("host", host)?,
    };
    let listed = fit(filter.choose(agents(environment)?), limit);
    Ok(ListedAgents { agents: listed.items, left_out: listed.left_out })
}

fn show_agent(
    asked: &ShowAgent,
    environment: &Environment,
    is_wanted: &dyn Fn() -> bool,
) -> Result<ShownAgent, CommandError> {
    let agent = agent::find(&agents(environment)?, &asked.agent, environment)?;
    let Some(session) = agent.session.clone() else {
        return Ok(ShownAgent { agent, last_events: Vec::new(), left_out: None });
    };
    let filter = RecordFilter {
        session: Some(session),
        host: agent.host.clone(),
        ..RecordFilter::default()
    };
    let found = find_records(&filter, asked.limit, None, environment, is_wanted)?;
    Ok(ShownAgent { agent, last_events: found.records, left_out: found.left_out })
}

fn decisions(environment: &Environment) -> Result<Vec<DecisionView>, CommandError> {
    match ask_if_it_runs(environment, &Request::Decisions)? {
        Response::Decisions(decisions) => Ok(decisions),
        _ => Err(ClientError::NoAnswer.into()),
    }
}

fn list_decisions(
    asked: ListDecisions,
    environment: &Environment,
) -> Result<ListedDecisions, CommandError> {
    let filter = DecisionFilter {
        agent: parsed("agent", asked.agent)?,
        project: parsed("project", asked.project)?,
        tool: parsed("tool", asked.tool)?,
        about: parsed("about", asked.about)?,
    };
    let listed = fit(filter.choose(decisions(environment)?, asked.all), asked.limit);
    Ok(ListedDecisions { decisions: listed.items, left_out: listed.left_out })
}

fn show_decision(
    asked: &ShowDecision,
    environment: &Environment,
) -> Result<ShownDecision, CommandError> {
    let decisions = decisions(environment)?;
    let decision = decision::list::find(&decisions, &asked.decision)?.clone();
    Ok(ShownDecision { decision, left_out: None })
}

fn search_journal(
    asked: SearchJournal,
    environment: &Environment,
    is_wanted: &dyn Fn() -> bool,
) -> Result<FoundRecords, CommandError> {
    let filter = RecordFilter {
        since: parsed("since", asked.since)?,
        until: parsed("until", asked.until)?,
        session: asked.session,
        host: asked.host,
        project: parsed("project", asked.project)?,
        event: asked.event,
        tool: asked.tool,
        hook: asked.hook,
        verdict: asked.verdict.as_deref().map(verdict).transpose()?,
        text: asked.text,
    };
    find_records(&filter, asked.limit, asked.before.as_deref(), environment, is_wanted)
}

fn verdict(word: &str) -> Result<Verdicts, CommandError> {
    Verdicts::from_str(word, false).map_err(|_| {
        let known = Verdicts::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known: Vec<String> = known.map(|known| known.get_name().to_owned()).collect();
        not_among("verdict", word, &known.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

/// Returns the last records that match, the oldest first.
fn find_records(
    filter: &RecordFilter,
    asked: usize,
    before: Option<&str>,
    environment: &Environment,
    is_wanted: &dyn Fn() -> bool,
) -> Result<FoundRecords, CommandError> {
    let journal = environment.journal().ok_or_else(CommandError::no_journal)?;
    let before = before.map(RecordId::from_text);
    let limit = limit(asked);
    // One more shows whether there are more.
    let found = LastRecords::read(&journal, filter, limit + 1, before.as_ref(), is_wanted)
        .map_err(|error| CommandError::at(journal.folder(), error))?;
    if let Some(before) = before.filter(|_| !found.is_past) {
        return Err(CommandError::input(format!("`before`: there is no record `{before}`"))
            .hint("use `next` of the last result; records are dropped when they are old"));
    }
    let mut records: Vec<FoundRecord> = found.records.iter().map(FoundRecord::from).collect();
    let kept = fitting(records.iter().rev().take(limit));
    let is_more = kept < records.len();
    records.drain(..records.len() - kept);
    let next = records.first().filter(|_| is_more).map(|record| record.id.clone());
    let left_out = next
        .as_ref()
        .map(|next| format!("earlier records match, too: search_journal with `before`: `{next}`"));
    Ok(FoundRecords { records, next, damaged_lines: found.damaged, left_out })
}

fn show_record(asked: &ShowRecord, environment: &Environment) -> Result<ShownRecord, CommandError> {
    let journal = environment.journal().ok_or_else(CommandError::no_journal)?;
    let trace = show::find(environment, &journal, &asked.record)?;
    let is_long = |record: &Record| with_short_payload(record.clone()) != *record;
    let left_out = (is_long(&trace.record) || is_long(&trace.first))
        .then(|| "the payload is cut; a person reads all of it with `anyhook log show`".to_owned());
    let daemon = trace.heard.map(|heard| match heard {
        Ok(told) => {
            let dropped = told.dropped.as_ref().map(|why| format!(" (dropped: {why})"));
            format!("{}{}", events::line_of(&told), dropped.unwrap_or_default())
        }
        Err(why) => format!("the daemon {why}"),
    });
    Ok(ShownRecord {
        first: (trace.first.id != trace.record.id).then(|| with_short_payload(trace.first)),
        record: with_short_payload(trace.record),
        later: trace.later,
        daemon,
        missing: trace.missing,
        left_out,
    })
}

fn hooks_in_force(
    asked: HooksInForce,
    environment: &Environment,
) -> Result<ProjectHooks, CommandError> {
    let mut environment = environment.clone();
    if let Some(project) = asked.project {
        let folder = Path::new(&project);
        if !folder.is_absolute() || !folder.is_dir() {
            let why = format!("`project`: `{project}` is not the absolute path of a folder");
            return Err(CommandError::input(why));
        }
        environment.work_dir = folder.to_owned();
    }
    let report = list::report(&environment);
    let listed = fit(report.hooks, usize::MAX);
    Ok(ProjectHooks {
        project: environment.work_dir.display().to_string(),
        hooks: listed.items,
        notes: report.notes,
        left_out: listed.left_out,
    })
}

fn list_pipelines(
    asked: &ListPipelines,
    environment: &Environment,
) -> Result<ListedPipelines, CommandError> {
    let Response::Pipelines(mut pipelines) = ask_if_it_runs(environment, &Request::Pipelines)?
    else {
        return Err(ClientError::NoAnswer.into());
    };
    pipelines.retain(|pipeline| asked.all || !pipeline.phase.is_over());
    let listed = fit(pipelines, asked.limit);
    Ok(ListedPipelines { pipelines: listed.items, left_out: listed.left_out })
}

fn stats(asked: Stats, environment: &Environment) -> Result<StatsReport, CommandError> {
    let arguments = StatsArgs {
        hooks: asked.hooks,
        since: parsed("since", asked.since)?,
        until: parsed("until", asked.until)?,
        host: asked.host,
        ..StatsArgs::default()
    };
    stats::report(&arguments, environment)
}
