//! `anyhook`: one hook engine for every AI coding agent.
//!
//! The hook path ([`anyhook_hook`]) is what an agent waits for: it is handled before anything else
//! is set up. Everything a person types goes through [`commands`].

mod argument_values;
mod commands;
mod confirm;
mod daemon;
mod downtime;
mod environment;
mod error;
mod event_args;
mod human_only;
mod id_prefix;
mod level;
#[cfg(feature = "workflow")]
mod mcp_wait;
mod packs;
mod paging;
mod runbooks;
#[cfg(feature = "workflow")]
mod workflow;

use std::process::ExitCode;

use anyhook_daemon::gate_watcher;
use anyhook_daemon::notice;
use anyhook_daemon::session;
use anyhook_daemon::task;
use anyhook_engine::now;
use anyhook_engine::run::detached;
use anyhook_hook::{self as hook, daemon_start, panic_hook};
use anyhook_pages as pages;
use anyhook_setup::{
    accept_changes, hooks as target, known_places, mcp_servers, passwd, settings as agents, shadow,
};
use anyhook_terminal::{self as ui, format, pattern, progress, time_arg};

use crate::commands::{completions, manual};

fn main() -> ExitCode {
    panic_hook::exit_on_panic();
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|argument| argument.to_str()) {
        Some("hook") => {
            if let Some(request) = hook::HookCall::parse(&arguments[1..]) {
                progress::say_that_we_read("the event");
                return hook::answer(&request, environment::running_program).into();
            }
        }
        Some(detached::ARGUMENT) => {
            // No one listens any more: what failed can only be missing from the journal.
            let looked_after = detached::look_after(std::io::stdin().lock());
            return ExitCode::from(u8::from(looked_after.is_err()));
        }
        Some(notice::ARGUMENT) => {
            let surroundings = notice::DesktopEnv { bus: environment::desktop_bus() };
            let delivered = notice::run(std::io::stdin().lock(), &surroundings);
            return ExitCode::from(u8::from(delivered.is_err()));
        }
        Some(task::ARGUMENT) => {
            let went_well = task::supervisor::main(&arguments[1..]);
            // The daemon that waits for the result may have been killed.
            daemon::revive_after_task(&arguments[1..]);
            return ExitCode::from(u8::from(!went_well));
        }
        Some(session::ARGUMENT) => {
            let went_well = session::main(&arguments[1..]);
            daemon::revive_after_task(&arguments[1..]);
            return ExitCode::from(u8::from(!went_well));
        }
        Some(daemon_start::STARTER_ARGUMENT) => return daemon::run_starter(&arguments[1..]),
        Some(daemon_start::DAEMON_ARGUMENT) => return daemon::run(&arguments[1..]),
        Some(gate_watcher::ARGUMENT) => {
            commands::watch_gates();
            return ExitCode::SUCCESS;
        }
        Some(completions::ARGUMENT) => {
            if let Some(code) = completions::answer(&arguments[1..]) {
                return code;
            }
        }
        Some(manual::ARGUMENT) => return manual::main(&arguments[1..]),
        Some(detached::KEEPER) => return ExitCode::from(u8::from(keep_journal().is_err())),
        _ => {}
    }
    commands::main()
}

/// Seals and removes segments of the journal in the background: the agent has its answer.
fn keep_journal() -> std::io::Result<()> {
    let environment = environment::Environment::read();
    environment.journal().map_or(Ok(()), |journal| journal.keep(now()).map(drop))
}
