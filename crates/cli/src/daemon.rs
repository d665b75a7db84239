//! The client side of the daemon for commands: finds or starts it, and sends requests.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhook_daemon::page_server::PageServer;
use anyhook_daemon::store::StoreError;
use anyhook_daemon::{Daemon, DaemonError, notice};
use anyhook_engine::Places;
use anyhook_engine::settings::Settings;
use anyhook_model::daemon::{DaemonStatus, RefusalCode, Request, Response, StartedBy};
use anyhook_model::notice::{DeliveryStatus, NoticeState};

use anyhook_hook::daemon_start::{self, start_in_background};
use anyhook_hook::presence;
use anyhook_socket::client::OnBehalfOf;
use anyhook_socket::{Client, ClientError, DaemonFolder};
use anyhook_ui::{LanOptions, Page, PageOptions};

use crate::downtime;
use crate::environment::{self, Environment};
use crate::error::CommandError;

/// A command waits for the daemon at most this long.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the daemon's folder.
pub fn folder(places: &Places) -> Result<DaemonFolder, CommandError> {
    let state = places.state.as_deref().ok_or_else(|| {
        CommandError::problem("no state folder, so there is no daemon").hint("set HOME")
    })?;
    Ok(DaemonFolder::in_state_dir(state))
}

/// Connects to the daemon; starts it if it does not run.
pub fn connect(environment: &Environment) -> Result<Client, CommandError> {
    let folder = folder(&environment.places)?;
    Ok(Client::connect_or_for(&folder, TIMEOUT, OnBehalfOf::Person, || {
        downtime::note_start();
        start_in_background(environment.places.binary.as_deref(), &folder)
    })?)
}

/// Sends a request that changes nothing; starts the daemon if it does not run.
pub fn ask(environment: &Environment, request: &Request) -> Result<Response, CommandError> {
    match connect(environment)?.request(request) {
        // It was about to stop: the next one has the same state.
        Err(error) if error.may_pass() && !matches!(error, ClientError::Silent { .. }) => {
            Ok(connect(environment)?.request(request)?)
        }
        answered => Ok(answered?),
    }
}

/// Connects to the daemon if it runs.
pub fn connect_if_it_runs(environment: &Environment) -> Result<Option<Client>, CommandError> {
    match Client::connect(&folder(&environment.places)?) {
        Ok(client) => Ok(Some(client)),
        Err(ClientError::NotRunning) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sends a request that changes nothing, if the daemon runs. It is not started: whoever stopped it
/// may have had a reason.
pub fn ask_if_it_runs(
    environment: &Environment,
    request: &Request,
) -> Result<Response, CommandError> {
    let Some(mut client) = connect_if_it_runs(environment)? else {
        let since = downtime::down_since(environment);
        let since = since.map(|since| format!(": {since}")).unwrap_or_default();
        return Err(CommandError::problem(format!("the daemon is not running{since}"))
            .hint("anyhook daemon start"));
    };
    Ok(client.request(request)?)
}

/// Queries the daemon's status.
pub fn status(client: &mut Client) -> Result<DaemonStatus, CommandError> {
    match client.request(&Request::Status)? {
        Response::Status(status) => Ok(*status),
        _ => Err(ClientError::NoAnswer.into()),
    }
}

/// Returns why a stopped daemon could not continue, and the next step, if that is last in its log.
pub fn last_words(folder: &DaemonFolder) -> Option<(String, String)> {
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

/// Returns the messages of the last day's notices that did not reach the person.
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
                for way in outcome.ways.iter().filter(|way| way.result == DeliveryStatus::Failed) {
                    let why = way.why.as_deref().unwrap_or("no reason given");
                    failed.push(format!("a notice failed ({}: {why}): {title}", way.way.name()));
                }
            }
        }
    }
    failed
}

/// Runs as the process that starts the daemon; its exit code says whether the daemon listens.
pub fn run_starter(arguments: &[OsString]) -> ExitCode {
    let places = Environment::read().places;
    let listens = match (places.binary.as_deref(), places.state.as_deref()) {
        (Some(binary), Some(state)) => daemon_start::run_starter(
            binary,
            &DaemonFolder::in_state_dir(state),
            started_by(arguments),
        ),
        _ => Ok(false),
    };
    ExitCode::from(u8::from(!listens.unwrap_or(false)))
}

/// Runs as the daemon, until it is told to stop; its output goes to its log.
pub fn run(arguments: &[OsString]) -> ExitCode {
    tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).init();
    let places = Environment::read().places;
    let binary = places.binary.clone().unwrap_or_else(|| "anyhook".into());
    let variables = daemon_start::kept_variables()
        .filter_map(|(name, value)| Some((name.to_owned(), value.into_string().ok()?)))
        .collect();
    let logs = environment::log_homes(&places);
    let started_by = started_by(arguments);
    #[cfg(feature = "workflow")]
    anyhook_ui::use_method(crate::workflow::method());
    let settings = Settings::load(&places, None).ui;
    let options = PageOptions {
        places: places.clone(),
        is_enabled: settings.enabled,
        port: settings.port,
        lan: LanOptions { is_enabled: settings.lan, ..LanOptions::default() },
    };
    let page: Arc<dyn PageServer> = Arc::new(Page::new(options));
    match (Daemon { logs, places, binary, started_by, variables, page: Some(page) }).run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(DaemonError::Store(StoreError::Locked { .. })) => {
            tracing::info!("another daemon is already running");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let hint = error.hint().map(|hint| format!(" hint: {hint}")).unwrap_or_default();
            tracing::error!("{error}{hint}");
            ExitCode::FAILURE
        }
    }
}

/// Returns who started the daemon, from the first argument of its process or of its starter.
fn started_by(arguments: &[OsString]) -> StartedBy {
    let named = arguments.first().and_then(|by| by.to_str());
    StartedBy::from_name(named.unwrap_or_default())
}

/// Restarts the daemon, if it should be running: what the supervisor of a task does at its end.
///
/// `arguments` are the supervisor's; the first names the task's folder, which is in the state
/// folder.
pub fn revive_after_task(arguments: &[OsString]) {
    let Some(state) = arguments.first().and_then(|folder| state_of_task(Path::new(folder))) else {
        return;
    };
    // The folders of the previous daemon are recorded; a session's environment may differ.
    let places = Places {
        state: Some(state.to_owned()),
        home: None,
        user: None,
        ..Environment::read().places
    };
    revive(&places, StartedBy::Keeper);
}

/// Restarts the daemon, if it has work and was killed.
pub fn revive(places: &Places, by: StartedBy) {
    presence::revive(places, environment::running_program, by);
}

/// Returns the state folder of a pipeline's task: its folder is `STATE/daemon/pipelines/ID/jobs/N`.
fn state_of_task(folder: &Path) -> Option<&Path> {
    let jobs = folder.parent().filter(|jobs| jobs.ends_with("jobs"))?;
    let pipelines = jobs.parent()?.parent()?;
    pipelines.ends_with("daemon/pipelines").then(|| pipelines.parent()?.parent()).flatten()
}

impl From<ClientError> for CommandError {
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
            ClientError::Silent { process: Some(process), is_stopped: true } => {
                Some(format!("kill -CONT {process}"))
            }
            ClientError::Silent { process: Some(process), is_stopped: false } => Some(format!(
                "try again, or run `kill -9 {process}`: the next command starts a new daemon, and nothing is lost"
            )),
            ClientError::Silent { process: None, .. } => {
                Some("try again; `anyhook daemon logs` shows its log".to_owned())
            }
            ClientError::Version { .. } => {
                Some("anyhook daemon stop, then anyhook daemon start".to_owned())
            }
            ClientError::Folder(error) => Some(error.hint().to_owned()),
            ClientError::NotStarted(_) | ClientError::Frame(_) => {
                Some("anyhook daemon logs".to_owned())
            }
            ClientError::Stranger => {
                Some("check the state folder's owner and permissions".to_owned())
            }
            ClientError::NoAnswer => None,
        };
        match hint {
            Some(hint) => trouble.hint(hint),
            None => trouble,
        }
    }
}
