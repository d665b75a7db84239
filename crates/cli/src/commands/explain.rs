//! `anyhook explain`: which hooks would run, in which order, which would not, and why.

use anyhook_engine::agent_directives::{self, PIPELINE};
use anyhook_engine::hook::Trust;
use anyhook_engine::{Engine, Hook};
use anyhook_model::report::{PlanReport, PlannedHook};
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
    let plan = anyhook_engine::explain(&hooks_met, event);
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
        out.json(&PlanReport { event: event.kind.clone(), project, hooks })?;
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
                Cell::new(Tone::Dim, why.to_string()),
            ]
        })
        .collect();
    out.table(&rows)?;
    Ok(exit_code::OK)
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
