//! `anyhook reload`: sessions under way use the guards as they are now.

use anyhook_engine::{now, session_guards};
use anyhook_model::exit_code;
use anyhook_model::report::changes::ReloadReport;
use clap::Args;

use super::Ended;
use crate::environment::Environment;
use crate::error::Trouble;
use crate::ui::{Out, Tone};

/// Have sessions under way use the guards as they are now
///
/// A session remembers the guards it began with: one that is changed, moved to shadow mode or taken
/// away meanwhile is told of, and with `on_failure: block` it goes on deciding as it was. This
/// accepts what is there now, in every session.
#[derive(Args)]
#[command(after_help = "Example: anyhook reload\n         anyhook reload no-force-push")]
pub struct ReloadArgs {
    /// The guards, by name; without, all of them
    hooks: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &ReloadArgs, environment: &Environment, out: &mut Out) -> Ended {
    let Some(state) = &environment.places.state else {
        return Err(Trouble::problem("there is no state folder to remember it in").hint("set HOME"));
    };
    let names: Vec<&str> = arguments.hooks.iter().map(String::as_str).collect();
    session_guards::accept(state, &names, now()).map_err(|error| Trouble::at(state, error))?;
    if arguments.json {
        out.json(&ReloadReport { guards: arguments.hooks.clone() })?;
        return Ok(exit_code::OK);
    }
    let what = if names.is_empty() { "all guards".to_owned() } else { names.join(", ") };
    out.line(&[
        (Tone::Good, "accepted as they are now: "),
        (Tone::Strong, &what),
        (Tone::Plain, " (from the next event on, in every session)"),
    ])?;
    Ok(exit_code::OK)
}
