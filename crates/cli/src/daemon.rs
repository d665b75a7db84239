//! How the program meets the daemon: finds it, starts it, and has a person asked through it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use anyhook_daemon::{Client, ClientError, Folder, Life, LifeError, notice, peer};
use anyhook_engine::Places;
use anyhook_engine::person::Person;
use anyhook_engine::run::descendants::release_orphans;
use anyhook_hosts::happening;
use anyhook_model::bus::AgentReport;
use anyhook_model::daemon::{Ask, DaemonStatus, RefusalCode, Request, Response};
use anyhook_model::notice::{NoticeState, WayResult};
use anyhook_model::{Happening, Inquiry, PromptType, Record, Resolution};
use signal_hook::consts::SIGTERM;
use signal_hook::low_level::pipe;

use crate::environment::{self, Environment};
use crate::error::Trouble;

/// The argument that makes the program be the daemon.
pub const ARGUMENT: &str = "__daemon";
/// The argument that makes the program start the daemon and end when it listens.
pub const STARTER: &str = "__start-daemon";

/// How often the one who starts it looks whether it listens.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What the daemon gets of its starter's environment: where things are and how to reach the
/// person, and nothing that only concerns an agent or a terminal.
const KEPT_VARIABLES: [&str; 18] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "LANG",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "ANYHOOK_FAULT",
    "RUST_BACKTRACE",
];

/// A log that is longer is put aside when the daemon starts.
const LOG_LIMIT: u64 = 4 * 1024 * 1024;

/// A person waits for the daemon so long.
const PATIENCE: Duration = Duration::from_secs(10);

/// A daemon that cannot take a question is asked again for so long; then the agent's own dialog
/// stands.
const REFUSED_LIMIT: Duration = Duration::from_secs(2);

/// A hook process that lost the daemon asks again after so long.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// Returns the daemon's folder.
pub fn folder(places: &Places) -> Result<Folder, Trouble> {
    let state = places.state.as_deref().ok_or_else(|| {
        Trouble::problem("there is no state folder, so no daemon").hint("set HOME")
    })?;
    Ok(Folder::of_state(state))
}

/// Connects to the daemon; starts it if it does not run.
pub fn connect(environment: &Environment) -> Result<Client, Trouble> {
    let folder = folder(&environment.places)?;
    Ok(Client::connect_or(&folder, PATIENCE, || start(&environment.places, &folder))?)
}

/// Asks the daemon something that changes nothing; starts it if it does not run.
pub fn ask(environment: &Environment, request: &Request) -> Result<Response, Trouble> {
    match connect(environment)?.request(request) {
        // It was about to end: the next one knows the same.
        Err(error) if error.may_pass() => Ok(connect(environment)?.request(request)?),
        answered => Ok(answered?),
    }
}

/// Connects to the daemon if it runs.
pub fn connect_if_it_runs(environment: &Environment) -> Result<Option<Client>, Trouble> {
    match Client::connect(&folder(&environment.places)?) {
        Ok(client) => Ok(Some(client)),
        Err(ClientError::NotRunning) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Asks the daemon how it is.
pub fn status(client: &mut Client) -> Result<DaemonStatus, Trouble> {
    match client.request(&Request::Status)? {
        Response::Status(status) => Ok(*status),
        _ => Err(ClientError::NoAnswer.into()),
    }
}

/// Returns why a daemon that ended could not go on, and the next step, if it said so last.
pub fn last_words(folder: &Folder) -> Option<(String, String)> {
    let said = tail(&folder.log(), 1).ok()?;
    let (_, why) = said.split_once(" ERROR ")?;
    let why = why.split_once(": ").map_or(why, |(_, why)| why).trim();
    let (why, hint) = why.split_once(" hint: ").unwrap_or((why, "anyhook daemon logs"));
    Some((why.to_owned(), hint.to_owned()))
}

/// Returns the last lines of a file.
pub fn tail(path: &Path, lines: usize) -> io::Result<String> {
    const MOST: u64 = 1024 * 1024;
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    Ok(all[all.len().saturating_sub(lines)..].concat())
}

/// Returns the notices of the last day that did not reach the person, in words.
pub fn notices_that_failed(places: &Places) -> Vec<String> {
    let Some(state) = &places.state else { return Vec::new() };
    let since = anyhook_engine::now() - jiff::SignedDuration::from_hours(24);
    let mut failed = Vec::new();
    for outcome in notice::outcomes(&notice::folder(state)) {
        if outcome.claimed.is_some_and(|claimed| claimed < since) {
            continue;
        }
        let title = outcome.title.as_deref().unwrap_or(&outcome.id);
        match outcome.state {
            NoticeState::UnderWay => {}
            NoticeState::InDoubt => {
                failed.push(format!("a notice may not have reached you: {title}"));
            }
            NoticeState::Tried => {
                for way in outcome.ways.iter().filter(|way| way.result == WayResult::Failed) {
                    let why = way.why.as_deref().unwrap_or("no reason given");
                    failed.push(format!("a notice failed ({}: {why}): {title}", way.way.name()));
                }
            }
        }
    }
    failed
}

/// Starts the daemon by a process between. Does not wait for it: the process between ends well when
/// the daemon listens, and badly if it ended before.
///
/// An agent that no longer needs a hook ends it with all that comes from it. The daemon may have been
/// started by one, and must not come from it.
pub fn start(places: &Places, folder: &Folder) -> io::Result<Child> {
    let log = open_log(folder)?;
    let binary = places.binary.as_deref().ok_or(io::ErrorKind::NotFound)?;
    let kept = KEPT_VARIABLES.iter().filter_map(|name| Some((name, env::var_os(name)?)));
    Command::new(binary)
        .arg(STARTER)
        .env_clear()
        .envs(kept)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

/// Is the process between: starts the daemon and tells whether it listens.
pub fn start_aside(environment: &Environment) -> io::Result<bool> {
    let socket = folder(&environment.places).map_err(|_| io::ErrorKind::NotFound)?.socket();
    let binary = environment.places.binary.as_deref().ok_or(io::ErrorKind::NotFound)?;
    let mut daemon = Command::new(binary).arg(ARGUMENT).spawn()?;
    loop {
        if let Ok(stream) = UnixStream::connect(&socket) {
            if peer::process(&stream).is_some_and(|process| process != daemon.id()) {
                // Another was quicker. Ours must not wait for its end to come in its place.
                let _ = daemon.kill();
                let _ = daemon.wait();
            }
            return Ok(true);
        }
        if daemon.try_wait()?.is_some() {
            return Ok(false);
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn open_log(folder: &Folder) -> io::Result<File> {
    let path = folder.log();
    if path.metadata().is_ok_and(|metadata| metadata.len() > LOG_LIMIT) {
        std::fs::rename(&path, path.with_extension("log.1"))?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Is the daemon, until it is told to stop.
pub fn live(environment: Environment) -> Result<(), LifeError> {
    let binary = environment.places.binary.clone().unwrap_or_else(|| "anyhook".into());
    Life { logs: environment::log_homes(&environment.places), places: environment.places, binary }
        .live()
}

/// A person who is reached through the daemon, which is found, or started.
#[derive(Debug)]
pub struct ThroughDaemon;

impl Person for ThroughDaemon {
    fn ask(&self, places: &Places, inquiry: &Inquiry, record: &Record) -> Option<Resolution> {
        let folder = Folder::of_state(places.state.as_deref()?);
        let told = happening::of_record(record);
        // A question has answers of its own, which only the agent's dialog can take.
        if matches!(&told, Some(Happening::AgentPrompt(prompt)) if prompt.prompt_type == PromptType::Question)
        {
            return None;
        }
        let ask = Ask { inquiry: inquiry.clone(), report: report(told, inquiry) };
        let wait = inquiry.until?.duration_since(inquiry.created);
        // The daemon says when the time is over; it may be a moment late.
        let limit = Instant::now() + Duration::try_from(wait).ok()? + Duration::from_millis(500);
        // A host that needs no answer any more says so by a signal: what happened is then journaled.
        let (interrupted, signalled) = UnixStream::pair().ok()?;
        pipe::register(SIGTERM, signalled).ok()?;
        // The hooks are done, and a daemon that we start is not to come to us.
        release_orphans();
        let mut starts = true;
        let mut refused: Option<Instant> = None;
        loop {
            let left = limit.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let client = if starts {
                Client::connect_or(&folder, left, || start(places, &folder))
            } else {
                Client::connect_within(&folder, left.min(PATIENCE))
            };
            let left = limit.saturating_duration_since(Instant::now());
            match client.and_then(|mut client| client.ask(&ask, left, &interrupted)) {
                Ok(resolution) => return Some(resolution),
                // It may come back, and then it still knows what was asked.
                Err(error) if error.may_pass() => {
                    if matches!(error, ClientError::Refused(_)) {
                        let since = *refused.get_or_insert_with(Instant::now);
                        if since.elapsed() > REFUSED_LIMIT {
                            return None;
                        }
                    }
                    starts = false;
                    thread::sleep(ASK_AGAIN.min(left));
                }
                Err(_) => return None,
            }
        }
    }
}

/// Tells of the agent what its record will tell when it is written.
fn report(told: Option<Happening>, inquiry: &Inquiry) -> AgentReport {
    let mut report = told.and_then(|told| told.report().cloned()).unwrap_or_default();
    report.agent.clone_from(&inquiry.agent);
    report.tool.clone_from(&inquiry.tool);
    report.about.clone_from(&inquiry.about);
    report
}

impl From<ClientError> for Trouble {
    fn from(error: ClientError) -> Self {
        let trouble = match &error {
            ClientError::Refused(refusal) => match refusal.code {
                RefusalCode::Unknown
                | RefusalCode::Ambiguous
                | RefusalCode::NoSuchChoice
                | RefusalCode::BadRequest => Self::input(error.to_string()),
                _ => Self::problem(error.to_string()),
            },
            _ => Self::problem(error.to_string()),
        };
        let hint = match &error {
            ClientError::Refused(refusal) => refusal.hint.clone(),
            ClientError::NotRunning => Some("anyhook daemon start".to_owned()),
            ClientError::Version { .. } => {
                Some("anyhook daemon stop, then anyhook daemon start".to_owned())
            }
            ClientError::Folder(error) => Some(error.hint().to_owned()),
            ClientError::NotStarted(_) | ClientError::Frame(_) => {
                Some("anyhook daemon logs".to_owned())
            }
            ClientError::Stranger => {
                Some("look at who owns the state folder, and its rights".to_owned())
            }
            ClientError::NoAnswer => None,
        };
        match hint {
            Some(hint) => trouble.hint(hint),
            None => trouble,
        }
    }
}
