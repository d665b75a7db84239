//! `anyhook reload`: makes running sessions use the current guards.

use anyhook_engine::{now, session_guards};
use anyhook_model::exit_code;
use anyhook_model::report::changes::ReloadReport;
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::ui::{Out, Tone};

/// Make running sessions use the current guards
///
/// A session remembers the guards it started with: if one is changed, moved to shadow mode or
/// removed, that is reported, and with `on_failure: block` the old version keeps deciding. This
/// accepts the current versions, in every session.
#[derive(Args)]
#[command(after_help = "Example: anyhook reload\n         anyhook reload no-force-push")]
pub struct ReloadArgs {
    /// The guards, by name; default: all of them
    hooks: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &ReloadArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let Some(state) = &environment.places.state else {
        return Err(CommandError::problem("no state folder to save this in").hint("set HOME"));
    };
    let names: Vec<&str> = arguments.hooks.iter().map(String::as_str).collect();
    session_guards::accept(state, &names, now()).map_err(|error| CommandError::at(state, error))?;
    if arguments.json {
        out.json(&ReloadReport { guards: arguments.hooks.clone() })?;
        return Ok(exit_code::OK);
    }
    let what = if names.is_empty() { "all guards".to_owned() } else { names.join(", ") };
    out.line(&[
        (Tone::Good, "running sessions now use the current version of "),
        (Tone::Strong, &what),
        (Tone::Plain, ", from their next event on"),
    ])?;
    Ok(exit_code::OK)
}
