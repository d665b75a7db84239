//! `anyhook run`: fires one event by hand.

use std::time::Duration;

use anyhook_engine::Engine;
use anyhook_model::{OpenFormat, exit_code};
use anyhook_pages::verdict::{show_left_out, show_outcome, show_runs};
use clap::Args;

use super::CommandResult;
use super::explain;
use crate::environment::{Environment, terminal_width};
use crate::event_args::EventArgs;
use crate::progress::{RunningHookNotice, note_running};
use crate::ui::{Out, Tone};

/// Fire an event manually: exit 0 if it is allowed, 2 if it is blocked
#[derive(Args)]
#[command(
    after_help = "Example: anyhook run before_tool --command 'rm -rf /'\n         anyhook run before_tool --path src/main.rs --tool WriteFile\n         anyhook run before_tool --tool Shell --input '{\"command\": \"rm -rf /\"}'"
)]
pub struct RunArgs {
    #[command(flatten)]
    event: EventArgs,
    /// Show which hooks would run, without running them
    #[arg(long)]
    dry_run: bool,
    /// Give up after N milliseconds; hooks still running then fail
    #[arg(long, value_name = "N")]
    deadline_ms: Option<u64>,
    /// Print the verdict as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &RunArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let event = arguments.event.event(environment)?;
    let mut engine = Engine::new(environment.places.clone());
    if arguments.dry_run {
        return explain::show(&engine, &event, arguments.json, environment, out);
    }
    engine.adopt_orphans();
    engine.heed_signals(anyhook_engine::run::interruption::is_ignored);
    engine.tell_run_to(note_running);
    let ticker = RunningHookNotice::start(String::new(), terminal_width);
    let mut dispatched =
        engine.dispatch_event(&OpenFormat, event, arguments.deadline_ms.map(Duration::from_millis));
    drop(ticker);
    let journaled = engine.journal_with(vec![(*dispatched.record).clone()], &dispatched.settings);
    if let Err(error) = journaled {
        // There is no record to refer to.
        dispatched.verdict.id = None;
        let text = format!("the journal cannot be written: {error}");
        // The verdict counts even if no one can be told.
        let _ = Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &text)]);
    }
    let shown = if arguments.json {
        out.json(&dispatched.verdict)
    } else {
        show_runs(&dispatched.record.runs, &dispatched.verdict, out)
            .and_then(|()| show_left_out(&dispatched.record, out))
            .and_then(|()| show_outcome(&dispatched.verdict, &dispatched.record, out))
    };
    if dispatched.verdict.is_block() {
        return Ok(exit_code::BLOCKED);
    }
    shown?;
    die_if_interrupted(&engine, out)?;
    Ok(exit_code::OK)
}

/// Ends by the signal that interrupted a hook, if one did, so that the caller sees it.
pub fn die_if_interrupted(engine: &Engine, out: &mut Out) -> std::io::Result<()> {
    let Some(signal) = engine.interrupted() else { return Ok(()) };
    out.flush()?;
    signal_hook::low_level::emulate_default_handler(signal)
}
