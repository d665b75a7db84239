//! `anyhook status-line`: one line that says whether guards stand, for Claude Code and tmux.

use std::io::{IsTerminal, Read};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhook_model::daemon::DaemonStatus;
use anyhook_model::exit_code;
use anyhook_setup::proof::status_line::{AgentSession, LineColours, StatusLine};
use clap::Args;

use super::CommandResult;
use crate::daemon;
use crate::environment::{self, Environment};
use crate::ui::Out;

/// Print one line for the status line of Claude Code or tmux: are your guards proven?
///
/// Reads what Claude Code tells its status line on standard input, if there is something, and is
/// then about that session; otherwise about every agent.
#[derive(Args)]
#[command(after_help = "Example: anyhook status-line --tmux")]
pub struct StatusLineArgs {
    /// Colours for tmux instead of those for terminals
    #[arg(long)]
    tmux: bool,
}

/// What standard input says must be there by then.
const INPUT_LIMIT: Duration = Duration::from_millis(200);
/// At most this much of it is read.
const INPUT_BYTES: u64 = 1024 * 1024;
/// The daemon's answer is left out if it takes longer.
const DAEMON_LIMIT: Duration = Duration::from_millis(8);

pub fn run(arguments: &StatusLineArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let waiting = in_background({
        let environment = environment.clone();
        move || status(&environment).map(|status| status.decisions)
    });
    let session = if arguments.tmux { None } else { session() };
    let mut line = StatusLine::look(session.as_ref(), environment)?;
    line.waiting = waiting.recv_timeout(DAEMON_LIMIT).ok().flatten();
    let colours = if arguments.tmux {
        LineColours::Tmux
    } else if environment::is_without_colours() {
        LineColours::None
    } else {
        LineColours::Ansi
    };
    out.as_it_is(&line.text(colours, anyhook_engine::now()))?;
    Ok(exit_code::OK)
}

fn session() -> Option<AgentSession> {
    if std::io::stdin().is_terminal() {
        return None;
    }
    let read = in_background(|| {
        let mut text = String::new();
        std::io::stdin().lock().take(INPUT_BYTES).read_to_string(&mut text).ok()?;
        AgentSession::parse(&text)
    });
    read.recv_timeout(INPUT_LIMIT).ok().flatten()
}

fn status(environment: &Environment) -> Option<DaemonStatus> {
    let mut client = daemon::connect_if_it_runs(environment).ok()??;
    daemon::status(&mut client).ok()
}

/// Does something that may take too long, in a thread that ends with the process.
fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Option<T> + Send + 'static,
) -> mpsc::Receiver<Option<T>> {
    let (done, result) = mpsc::channel();
    thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = done.send(work());
    });
    result
}
