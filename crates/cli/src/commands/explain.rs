//! `anyhook explain`: which hooks would run, in which order, which would not, and why.

use anyhook_engine::agent_directives::{self, PIPELINE};
use anyhook_engine::hook::Trust;
use anyhook_engine::matcher::reading;
use anyhook_engine::{Engine, Hook};
use anyhook_model::report::{CallReading, PlanReport, PlannedHook};
use anyhook_model::{Event, EventKind, Mode, SkipReason, exit_code};
use clap::Args;

use super::CommandResult;
use crate::environment::{Environment, shown};
use crate::event_args::EventArgs;
use crate::ui::{Cell, Out, Tone};

/// Show which hooks an event would run, in order, and why others are skipped; runs nothing
#[derive(Args)]
#[command(after_help = "Example: anyhook explain before_tool --command 'rm -rf /'")]
pub struct ExplainArgs {
    #[command(flatten)]
    event: EventArgs,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &ExplainArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let event = arguments.event.event(environment)?;
    show(&Engine::new(environment.places.clone()), &event, arguments.json, environment, out)
}

/// Shows the dispatch plan of an event.
pub fn show(
    engine: &Engine,
    event: &Event,
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let hooks_met = engine.hooks_for(event);
    let mut in_project = event.clone();
    in_project.project_dir.clone_from(&hooks_met.root);
    in_project.home.clone_from(&environment.places.home);
    let plan = anyhook_engine::explain(&hooks_met, &in_project);
    if json {
        let hooks = plan
            .iter()
            .map(|(hook, spelling, due)| PlannedHook {
                hook: hook.name().to_owned(),
                level: hook.level.word().to_owned(),
                folder: hook.folder_text(),
                priority: hook.definition.priority,
                runs: due.is_ok(),
                event: due.is_ok().then(|| event.kind.name(*spelling).to_owned()),
                why: due.clone().err(),
                fails: failing(hook),
            })
            .collect();
        let project = hooks_met.root.as_ref().map(|root| root.to_string_lossy().into_owned());
        let reading = reading(&in_project);
        out.json(&PlanReport { event: event.kind.clone(), project, reading, hooks })?;
        return Ok(exit_code::OK);
    }
    let tool = event.tool.as_ref().map(|tool| format!(" {}", tool.name)).unwrap_or_default();
    let root = hooks_met.root.as_ref().map_or_else(
        || "no project".to_owned(),
        |root| format!("project {}", shown(root, &environment.places)),
    );
    out.line(&[
        (Tone::Strong, &event.kind.to_string()),
        (Tone::Strong, &tool),
        (Tone::Dim, " · "),
        (Tone::Dim, &root),
    ])?;
    let due: Vec<_> = plan.iter().filter(|(_, _, due)| due.is_ok()).collect();
    if due.is_empty() {
        out.line(&[(Tone::Dim, "no hooks would run")])?;
    }
    let rows: Vec<Vec<Cell>> = due
        .iter()
        .enumerate()
        .map(|(index, (hook, _, _))| {
            vec![
                Cell::new(Tone::Plain, format!("{:>3}.", index + 1)),
                Cell::new(Tone::Strong, hook.name()),
                Cell::new(Tone::Dim, hook.level.word()),
                Cell::new(Tone::Dim, format!("priority {}", hook.definition.priority)),
                remarks(hook),
            ]
        })
        .collect();
    out.table(&rows)?;
    if let Some(message) = held(event, environment) {
        let text = format!("then the {PIPELINE} blocks the stop: {message}");
        out.line(&[(Tone::Warn, &text)])?;
    }
    if let Some(reading) = reading(&in_project).filter(|reading| !is_plain(reading, event)) {
        show_reading(&reading, out)?;
    }
    let (other, left_out): (Vec<_>, Vec<_>) = plan
        .iter()
        .filter_map(|(hook, _, due)| due.as_ref().err().map(|why| (hook, why)))
        .partition(|(_, why)| **why == SkipReason::OtherEvent);
    if !left_out.is_empty() || !other.is_empty() {
        out.gap()?;
        out.line(&[(Tone::Strong, "skipped")])?;
    }
    let rows: Vec<Vec<Cell>> = left_out
        .iter()
        .chain(&other)
        .map(|(hook, why)| {
            vec![
                Cell::new(Tone::Plain, "    "),
                Cell::new(Tone::Plain, hook.name()),
                Cell::new(Tone::Dim, hook.level.word()),
                Cell::new(Tone::Dim, why_not(hook, why, &in_project)),
            ]
        })
        .collect();
    out.table(&rows)?;
    Ok(exit_code::OK)
}

/// Returns why a hook would not run; of several conditions, the one that does not hold.
fn why_not(hook: &Hook, why: &SkipReason, event: &Event) -> String {
    let unmet = || hook.matcher.unmet_condition(event);
    match why {
        SkipReason::Conditions => {
            unmet().map_or(why.to_string(), |key| format!("matcher.{key} does not match"))
        }
        _ => why.to_string(),
    }
}

/// Returns whether a line is the one command that it seems to be.
fn is_plain(reading: &CallReading, event: &Event) -> bool {
    let CallReading { commands, files, urls, unknown } = reading;
    let [only] = commands.as_slice() else { return false };
    let line = event.headline().unwrap_or_default();
    let has_more = only.remote || !(files.is_empty() && urls.is_empty() && unknown.is_empty());
    !has_more && only.via.is_empty() && only.command == line.trim()
}

/// Shows what a command line was read as.
fn show_reading(reading: &CallReading, out: &mut Out) -> std::io::Result<()> {
    out.gap()?;
    out.line(&[(Tone::Strong, "command read")])?;
    for command in &reading.commands {
        let mut marks = Vec::new();
        if !command.via.is_empty() {
            marks.push(format!("via {}", command.via.join(", ")));
        }
        if command.remote {
            marks.push("elsewhere".to_owned());
        }
        if command.unknown {
            marks.push("cannot be told".to_owned());
        }
        let marks =
            if marks.is_empty() { String::new() } else { format!("  {}", marks.join("; ")) };
        out.line(&[(Tone::Plain, &format!("  {}", command.command)), (Tone::Dim, &marks)])?;
    }
    for file in &reading.files {
        let text = format!("  {:<6}  ", file.access);
        out.line(&[(Tone::Dim, &text), (Tone::Plain, &file.path)])?;
    }
    for url in &reading.urls {
        out.line(&[(Tone::Dim, "  fetch   "), (Tone::Plain, url)])?;
    }
    for unknown in &reading.unknown {
        let text = format!("  unknown: {}", unknown.reason);
        out.line(&[(Tone::Warn, &text), (Tone::Dim, &format!("  {}", unknown.text))])?;
    }
    Ok(())
}

/// Returns what its pipeline would tell the calling agent if that wanted to stop.
fn held(event: &Event, environment: &Environment) -> Option<String> {
    let state = environment.places.state.as_deref().filter(|_| event.kind == EventKind::BeforeStop);
    agent_directives::read(state?, environment.agent_id.as_deref()?)?.hold_stop
}

/// Returns why a hook fails without being run, if it does.
fn failing(hook: &Hook) -> Option<String> {
    match (&hook.trust, hook.fault()) {
        (Trust::Changed(why), _) => Some(why.clone()),
        (_, Some(fault)) => Some(fault.message.clone()),
        _ => None,
    }
}

fn remarks(hook: &Hook) -> Cell {
    if let Some(why) = failing(hook) {
        let blocks = if hook.blocks_on_failure() { "and blocks" } else { "open" };
        return Cell::new(Tone::Bad, format!("fails {blocks}: {why}"));
    }
    let definition = &hook.definition;
    let mut words = Vec::new();
    if definition.is_async {
        words.push("async");
    }
    if definition.mode == Mode::Shadow {
        words.push("shadow");
    }
    Cell::new(Tone::Warn, words.join(", "))
}
