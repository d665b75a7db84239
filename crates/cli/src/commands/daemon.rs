//! `anyhook daemon`: the process that knows what every agent does.

mod service;

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhook_daemon::store::Store;
use anyhook_engine::wait::poll_until;
use anyhook_hook::daemon_start::{DAEMON_ARGUMENT, open_log};
use anyhook_model::daemon::{Request, StartedBy};
use anyhook_model::exit_code;
use clap::{Args, Subcommand};

use super::CommandResult;
use crate::daemon::{self, connect_if_it_runs, folder, last_words, notices_that_failed, tail};
use crate::downtime;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::format::{apart, thousands};
use crate::ui::{Out, Tone};

/// The daemon stops within this time, or something is wrong.
const END_LIMIT: Duration = Duration::from_secs(10);
/// How often a log that is followed is checked.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Manage the daemon, which tracks what every agent is doing
///
/// It starts on demand and restarts after a crash while agents or pipelines are active. Hooks
/// decide without it.
#[derive(Args)]
#[command(after_help = "Example: anyhook daemon start\n         anyhook daemon status")]
pub struct DaemonArgs {
    #[command(subcommand)]
    command: DaemonCommand,
}

#[derive(Subcommand)]
enum DaemonCommand {
    /// Start it if it isn't running
    #[command(after_help = "Example: anyhook daemon start")]
    Start {
        /// Repair a damaged store first: keep what is intact, move the rest aside
        #[arg(long)]
        repair: bool,
        /// Run in the foreground, for a service manager
        #[arg(long, conflicts_with = "repair")]
        foreground: bool,
    },
    /// Stop it cleanly; nothing is lost, and it stays down until a command needs it
    #[command(after_help = "Example: anyhook daemon stop")]
    Stop,
    /// Start it at login and after a crash, with a systemd user unit or a launch agent
    #[command(
        after_help = "Example: anyhook daemon install --print\n         anyhook daemon install"
    )]
    Install {
        /// Only show what would be written
        #[arg(long)]
        print: bool,
    },
    /// Undo `anyhook daemon install`
    #[command(after_help = "Example: anyhook daemon uninstall")]
    Uninstall,
    /// Show whether it is running, and its state; exit 1 if it isn't running
    #[command(after_help = "Example: anyhook daemon status --json")]
    Status {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show its log
    #[command(after_help = "Example: anyhook daemon logs -f")]
    Logs {
        /// Follow the log until interrupted
        #[arg(short, long)]
        follow: bool,
        /// How many past lines to show
        #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
        lines: usize,
    },
}

impl DaemonArgs {
    /// Returns whether this starts the daemon, which then reads the settings. `status` reports the
    /// daemon's findings about them.
    pub fn is_start(&self) -> bool {
        matches!(self.command, DaemonCommand::Start { .. })
    }
}

pub fn run(arguments: &DaemonArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    match &arguments.command {
        DaemonCommand::Start { foreground: true, .. } => be_service(environment, out),
        DaemonCommand::Start { repair, .. } => start(*repair, environment, out),
        DaemonCommand::Stop => stop(environment, out),
        DaemonCommand::Install { print } => service::install(*print, environment, out),
        DaemonCommand::Uninstall => service::uninstall(environment, out),
        DaemonCommand::Status { json } => status(*json, environment, out),
        DaemonCommand::Logs { follow, lines } => logs(*follow, *lines, environment, out),
    }
}

fn start(repair: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    if let Some(mut client) = connect_if_it_runs(environment)? {
        let status = daemon::status(&mut client)?;
        let words = format!("daemon already running (pid {})", status.pid);
        out.line(&[(Tone::Plain, &words)])?;
        return Ok(exit_code::OK);
    }
    if repair {
        let store = folder(&environment.places)?.store();
        for note in
            Store::repair(&store).map_err(|error| CommandError::problem(error.to_string()))?
        {
            out.line(&[(Tone::Warn, "repaired: "), (Tone::Plain, &note)])?;
        }
    }
    let status = match daemon::connect(environment) {
        Ok(mut client) => daemon::status(&mut client)?,
        Err(trouble) => return Err(explained(trouble, environment)),
    };
    let words = format!("daemon running (pid {})", status.pid);
    out.line(&[(Tone::Good, &words)])?;
    Ok(exit_code::OK)
}

/// Becomes the daemon, in this process; its output goes to its log as always.
fn be_service(environment: &Environment, out: &mut Out) -> CommandResult {
    if let Some(mut client) = connect_if_it_runs(environment)? {
        let status = daemon::status(&mut client)?;
        let words = format!("daemon already running (pid {})", status.pid);
        out.line(&[(Tone::Plain, &words)])?;
        return Ok(exit_code::OK);
    }
    let place = folder(&environment.places)?;
    place.make().map_err(anyhook_socket::ClientError::from)?;
    let log = open_log(&place).map_err(|error| CommandError::at(&place.log(), error))?;
    let binary = environment.places.binary.as_deref();
    let binary = binary
        .ok_or_else(|| CommandError::problem("cannot find the path of the running program"))?;
    let error = Command::new(binary)
        .args([DAEMON_ARGUMENT, StartedBy::Service.name()])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .exec();
    Err(CommandError::at(binary, error))
}

/// Adds why the daemon could not start, as reported in its log.
fn explained(trouble: CommandError, environment: &Environment) -> CommandError {
    let said = folder(&environment.places).ok().and_then(|folder| last_words(&folder));
    match said {
        Some((why, hint)) => {
            CommandError::problem(format!("could not start the daemon: {why}")).hint(hint)
        }
        None => trouble,
    }
}

fn stop(environment: &Environment, out: &mut Out) -> CommandResult {
    // First, so that no hook event or task supervisor that finds the daemon gone starts it again.
    let place = folder(&environment.places)?;
    if place.path().exists() {
        let path = place.stopped();
        place.keep_stopped().map_err(|error| CommandError::at(&path, error))?;
    }
    let Some(mut client) = connect_if_it_runs(environment)? else {
        out.line(&[(Tone::Plain, "daemon not running")])?;
        return Ok(exit_code::OK);
    };
    let process = daemon::status(&mut client).ok().map(|status| status.pid);
    // It answers by exiting.
    let _ = client.request(&Request::Stop);
    let over = poll_until(Instant::now() + END_LIMIT, Duration::from_millis(10), || {
        let runs = connect_if_it_runs(environment).is_ok_and(|client| client.is_some());
        // Its socket is removed first: the next daemon must not meet the rest of the old one.
        (!runs && process.is_none_or(has_ended)).then_some(())
    });
    over.ok_or_else(does_not_end)?;
    out.line(&[(Tone::Good, "daemon stopped")])?;
    Ok(exit_code::OK)
}

/// Returns whether a process has ended. A zombie has no command line.
fn has_ended(process: u32) -> bool {
    fs::read(format!("/proc/{process}/cmdline")).map_or(true, |line| line.is_empty())
}

fn does_not_end() -> CommandError {
    CommandError::problem("the daemon did not stop").hint("anyhook daemon logs")
}

fn status(json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let Some(mut client) = connect_if_it_runs(environment)? else {
        if json {
            out.json(&serde_json::Value::Null)?;
            downtime::tell_down_since(environment);
        } else {
            out.line(&[(Tone::Plain, "daemon not running")])?;
            if let Some(since) = downtime::down_since(environment) {
                out.line(&[(Tone::Plain, &since)])?;
            }
            out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, "anyhook daemon start")])?;
        }
        return Ok(exit_code::PROBLEM);
    };
    let status = daemon::status(&mut client)?;
    if json {
        out.json(&status)?;
        return Ok(exit_code::OK);
    }
    let since = apart(status.since, anyhook_engine::now());
    let place = folder(&environment.places)?;
    out.line(&[
        (Tone::Good, "daemon running"),
        (Tone::Dim, &format!(" (pid {}, version {}, up {since})", status.pid, status.version)),
    ])?;
    if let Some(down) = &status.down {
        out.field(
            "was down",
            Tone::Plain,
            &anyhook_pages::downtime::words(down, status.started_by),
        )?;
    }
    out.field("agents", Tone::Plain, &thousands(status.agents as u64))?;
    out.field("decisions", Tone::Plain, &thousands(status.decisions as u64))?;
    out.field("pipelines", Tone::Plain, &thousands(status.pipelines as u64))?;
    out.field("events", Tone::Plain, &thousands(status.events))?;
    out.field("journal", Tone::Plain, status.journal.as_deref().unwrap_or("nothing read yet"))?;
    let logs: Vec<String> =
        status.logs.iter().map(|logs| format!("{} {}", logs.host, logs.files)).collect();
    let logs = if logs.is_empty() { "none read yet".to_owned() } else { logs.join(", ") };
    out.field("agent logs", Tone::Plain, &logs)?;
    let size = thousands(status.store_bytes);
    let store = format!("{size} bytes in {}", shown(&place.store(), &environment.places));
    out.field("store", Tone::Plain, &store)?;
    for note in status.notes.iter().chain(&notices_that_failed(&environment.places)) {
        out.line(&[(Tone::Warn, "note: "), (Tone::Plain, note)])?;
    }
    Ok(exit_code::OK)
}

fn logs(follow: bool, lines: usize, environment: &Environment, out: &mut Out) -> CommandResult {
    let path = folder(&environment.places)?.log();
    let said = match tail(&path, lines) {
        Ok(said) => said,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(
                CommandError::problem("the daemon has never run").hint("anyhook daemon start")
            );
        }
        Err(error) => return Err(CommandError::at(&path, error)),
    };
    out.pieces(&[(Tone::Plain, &said)])?;
    if !follow {
        return Ok(exit_code::OK);
    }
    let mut at = path.metadata().map_or(0, |metadata| metadata.len());
    loop {
        out.flush()?;
        thread::sleep(LOOK_EVERY);
        let length = path.metadata().map_or(0, |metadata| metadata.len());
        if length < at {
            at = 0;
        }
        if length > at {
            let mut file = File::open(&path).map_err(|error| CommandError::at(&path, error))?;
            file.seek(SeekFrom::Start(at))?;
            let mut text = Vec::new();
            at += file.take(length - at).read_to_end(&mut text)? as u64;
            out.pieces(&[(Tone::Plain, &String::from_utf8_lossy(&text))])?;
        }
    }
}
