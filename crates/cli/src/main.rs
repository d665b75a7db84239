//! `anyhook`: one hook engine for every AI coding agent.
//!
//! The hook path ([`hook`]) is what an agent waits for: it is taken before anything else is set up.
//! Everything a person types goes through [`commands`].

mod agents;
mod chart;
mod commands;
mod environment;
mod error;
mod figures;
mod hook;
mod level;
mod past;
mod progress;
mod since;
mod target;
mod ui;

use std::process::ExitCode;

use anyhook_engine::now;
use anyhook_engine::run::detached;

fn main() -> ExitCode {
    error::exit_on_panic();
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|argument| argument.to_str()) {
        Some("hook") => {
            if let Some(request) = hook::Request::parse(&arguments[1..]) {
                return hook::answer(&request);
            }
        }
        Some(detached::ARGUMENT) => {
            // Nobody listens any more: what went wrong can only be missing from the journal.
            let looked_after = detached::look_after(std::io::stdin().lock());
            return ExitCode::from(u8::from(looked_after.is_err()));
        }
        Some(detached::KEEPER) => return ExitCode::from(u8::from(keep_journal().is_err())),
        _ => {}
    }
    commands::main()
}

/// Seals and drops segments of the journal, aside: the agent has its answer.
fn keep_journal() -> std::io::Result<()> {
    let environment = environment::Environment::read();
    environment.journal().map_or(Ok(()), |journal| journal.keep(now()).map(drop))
}
