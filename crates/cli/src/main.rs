//! `anyhook`: one hook engine for every AI coding agent.
//!
//! The hook path ([`anyhook_hook`]) is what an agent waits for: it is taken before anything else is set up.
//! Everything a person types goes through [`commands`].

mod commands;
mod daemon;
mod downtime;
mod drawing;
mod environment;
mod error;
mod event_words;
mod level;
mod packs;
mod pattern;
mod person;
mod prefix;
mod progress;
mod runbooks;
mod usage;
mod waiting;
mod workflow;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhook_daemon::DaemonError;
use anyhook_daemon::gates;
use anyhook_daemon::notice;
use anyhook_daemon::session;
use anyhook_daemon::store::StoreError;
use anyhook_daemon::task;
use anyhook_engine::now;
use anyhook_engine::run::detached;
use anyhook_hook::{self as hook, fault, starter};
use anyhook_model::daemon::StartedBy;
use anyhook_replay::past;
use anyhook_setup::{
    accepted, hooks as target, known_places, passwd, servers, settings as agents, shadow,
};
use anyhook_terminal::{self as ui, chart, figures, since};

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
            let went_well = task::keeper::main(&arguments[1..]);
            // The daemon that waits for the result may have been killed.
            daemon::revive_after_task(&arguments[1..]);
            return ExitCode::from(u8::from(!went_well));
        }
        Some(session::ARGUMENT) => {
            let went_well = session::main(&arguments[1..]);
            daemon::revive_after_task(&arguments[1..]);
            return ExitCode::from(u8::from(!went_well));
        }
        Some(daemon::ARGUMENT) => return be_daemon(started_by(&arguments)),
        Some(starter::STARTER) => {
            let environment = environment::Environment::read();
            let listens = daemon::start_aside(&environment, started_by(&arguments));
            return ExitCode::from(u8::from(!listens.unwrap_or(false)));
        }
        Some(gates::ARGUMENT) => {
            anyhook_workflow::watcher::run(&workflow::caller(&environment::Environment::read()));
            return ExitCode::SUCCESS;
        }
        Some(manual::ARGUMENT) => return manual::main(&arguments[1..]),
        Some(detached::KEEPER) => return ExitCode::from(u8::from(keep_journal().is_err())),
        _ => {}
    }
    commands::main()
}

/// Returns who started the daemon, as the arguments of its process tell.
fn started_by(arguments: &[OsString]) -> StartedBy {
    let named = arguments.get(1).and_then(|by| by.to_str());
    StartedBy::from_name(named.unwrap_or_default())
}

/// Is the daemon; what it says goes to its log.
fn be_daemon(by: StartedBy) -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    match daemon::live(environment::Environment::read(), by) {
        Ok(()) => ExitCode::SUCCESS,
        Err(DaemonError::Store(StoreError::Locked { .. })) => {
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
