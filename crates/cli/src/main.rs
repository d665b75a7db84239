//! `anyhook`: one hook engine for every AI coding agent.
//!
//! The hook path ([`anyhook_hook`]) is what an agent waits for: it is taken before anything else is set up.
//! Everything a person types goes through [`commands`].

mod accepted;
mod agents;
mod chart;
mod commands;
mod daemon;
mod drawing;
mod environment;
mod error;
mod figures;
mod known_places;
mod level;
mod packs;
mod past;
mod person;
mod prefix;
mod progress;
mod runbooks;
mod servers;
mod shadow;
mod since;
mod target;
mod ui;
mod waiting;
mod workflow;

use std::process::ExitCode;

use anyhook_daemon::LifeError;
use anyhook_daemon::notice;
use anyhook_daemon::session::pty;
use anyhook_daemon::store::StoreError;
use anyhook_daemon::task;
use anyhook_engine::now;
use anyhook_engine::run::detached;
use anyhook_hook::{self as hook, fault, starter};

use crate::commands::manual;

fn main() -> ExitCode {
    fault::exit_on_panic();
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|argument| argument.to_str()) {
        Some("hook") => {
            if let Some(request) = hook::Request::parse(&arguments[1..]) {
                return hook::answer(&request, environment::running_program).into();
            }
        }
        Some(detached::ARGUMENT) => {
            // Nobody listens any more: what went wrong can only be missing from the journal.
            let looked_after = detached::look_after(std::io::stdin().lock());
            return ExitCode::from(u8::from(looked_after.is_err()));
        }
        Some(notice::ARGUMENT) => {
            let surroundings = notice::Surroundings { bus: environment::desktop_bus() };
            let delivered = notice::run(std::io::stdin().lock(), &surroundings);
            return ExitCode::from(u8::from(delivered.is_err()));
        }
        Some(task::ARGUMENT) => {
            return ExitCode::from(u8::from(!task::keeper::main(&arguments[1..])));
        }
        Some(pty::ARGUMENT) => return ExitCode::from(u8::from(!pty::main(&arguments[1..]))),
        Some(daemon::ARGUMENT) => return be_daemon(),
        Some(starter::STARTER) => {
            let listens = daemon::start_aside(&environment::Environment::read());
            return ExitCode::from(u8::from(!listens.unwrap_or(false)));
        }
        Some(manual::ARGUMENT) => return manual::main(&arguments[1..]),
        Some(detached::KEEPER) => return ExitCode::from(u8::from(keep_journal().is_err())),
        _ => {}
    }
    commands::main()
}

/// Is the daemon; what it says goes to its log.
fn be_daemon() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    match daemon::live(environment::Environment::read()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(LifeError::Store(StoreError::Locked { .. })) => {
            tracing::info!("another one runs already");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let hint = error.hint().map(|hint| format!(" hint: {hint}")).unwrap_or_default();
            tracing::error!("{error}{hint}");
            ExitCode::FAILURE
        }
    }
}

/// Seals and drops segments of the journal, aside: the agent has its answer.
fn keep_journal() -> std::io::Result<()> {
    let environment = environment::Environment::read();
    environment.journal().map_or(Ok(()), |journal| journal.keep(now()).map(drop))
}
