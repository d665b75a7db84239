//! Runs one daemon from start to end: opens its store, listens, and shuts down cleanly when told
//! to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{io, thread};

use anyhook_engine::journal::Journal;
use anyhook_engine::settings::Settings;
use anyhook_engine::{Engine, Places};
use anyhook_flow::{DaemonState, StateEntry};
use anyhook_hosts::log::LogRoots;
use anyhook_model::StateDir;
use anyhook_model::daemon::StartedBy;
use anyhook_socket::{DaemonFolder, FolderError};
use tokio::net::UnixListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use crate::core::{Core, CoreMessage, CoreParams};
use crate::journal_watcher::JournalWatcher;
use crate::log_watcher::LogWatcher;
use crate::page_server::{CoreHandle, PageServer};
use crate::presence::{Presence, PreviousRun};
use crate::process_watcher::ProcessWatcher;
use crate::replies::{AnswerCodes, ReplyChannels};
use crate::runner::{JobRunner, Runner, RunnerContext};
use crate::store::{RecoveredStore, Store, StoreError, StoreOptions};
use crate::{failpoints, notice, server};

/// How many messages may wait for the loop; senders of more have to wait, too.
const QUEUE: usize = 1024;

/// Why a daemon cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// There is no state folder.
    #[error("there is no state folder")]
    NoState,
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Its store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stored state is not known to this version.
    #[error("the store contains data this version cannot read: {0}")]
    Foreign(serde_json::Error),
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// What it was for.
        what: &'static str,
        /// The reason.
        error: io::Error,
    },
}

impl DaemonError {
    /// Returns the next step.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoState => Some("set HOME"),
            Self::Store(error) => Some(error.hint()),
            Self::Folder(error) => Some(error.hint()),
            Self::Foreign(_) | Self::System { .. } => None,
        }
    }
}

/// The parameters of a daemon.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// Where things are.
    pub places: Places,
    /// The path of this program.
    pub binary: PathBuf,
    /// Where agents' logs are.
    pub logs: Option<LogRoots>,
    /// Who started it.
    pub started_by: StartedBy,
    /// The variables it was started with, for the daemon that replaces it if it is killed.
    pub variables: BTreeMap<String, String>,
    /// Serves the page, if the program can.
    pub page: Option<Arc<dyn PageServer>>,
}

impl Daemon {
    /// Runs until it is told to stop.
    pub fn run(self) -> Result<(), DaemonError> {
        let state_folder = self.places.state.clone().ok_or(DaemonError::NoState)?;
        // Detach from the terminal it may have been started from.
        let _ = rustix::process::setsid();
        let folder = DaemonFolder::in_state_dir(&state_folder);
        folder.make()?;
        let files = raise_file_limit();
        let settings = Settings::load(&self.places, None);
        let before = PreviousRun::look(&folder);
        let (store, recovered) = Store::open(&folder.store(), StoreOptions::default())?;
        failpoints::point("start.store.opened");
        let wanted: BTreeSet<_> = settings.notify.on.iter().copied().collect();
        let RecoveredStore { snapshot, entries, mut notes } = recovered;
        let state = fold(snapshot, entries, &wanted)?;
        notes.extend(settings.problems.iter().cloned());
        let journal = Journal::with(&state_folder, settings.journal.clone());
        let no_threads = |error| DaemonError::System { what: "cannot create threads", error };
        let outside = runtime().map_err(no_threads)?;
        let (messages, taken) = mpsc::channel(QUEUE);
        let ends = messages.clone();
        let processes = ProcessWatcher::start(files / 4, move |(agent, process)| {
            let _ = ends.blocking_send(CoreMessage::ProcessEnded(agent, process));
        });
        let codes = answer_codes(&settings, &state_folder, &mut notes);
        let answer_key = codes.as_ref().map(|codes| codes.key.clone());
        let answers = codes.is_some();
        let phones =
            ReplyChannels::start(&settings.notify, &state_folder, answers, messages.clone());
        let phones = phones.map_err(no_threads)?;
        let tools = RunnerContext {
            binary: self.binary.clone(),
            notify: settings.notify,
            ui: settings.ui,
            claims: notice::folder(&state_folder),
            places: self.places.clone(),
            engine: Engine::new(self.places.clone()),
            messages: messages.clone(),
        };
        let jobs = JobRunner {
            binary: self.binary.clone(),
            state: state_folder.clone(),
            home: self.places.home.clone(),
            messages: messages.clone(),
        };
        let runner = Runner::start(tools, jobs, processes.map_err(no_threads)?, codes);
        let runner = runner.map_err(no_threads)?;
        let presence =
            Presence::begin(folder.clone(), before, self.started_by, self.variables.clone());
        let listener = listen(&outside, &folder)?;
        let _ = std::fs::create_dir_all(journal.folder());
        let grown = JournalWatcher::watch(journal.folder(), messages.clone());
        if let Err(error) = &grown {
            notes.push(format!(
                "polling the journal twice a second, because it cannot be watched: {error}"
            ));
        }
        let logs =
            self.logs.as_ref().map(|homes| LogWatcher::watch(homes, &state.logs, messages.clone()));
        if let Some(Err(error)) = &logs {
            notes.push(format!("agents' logs cannot be watched: {error}"));
        }
        let _ = notice::forget(&notice::folder(&state_folder), std::time::SystemTime::now());
        // The processes that ask at gates end with the daemon, but the gates remain.
        if StateDir::new(&state_folder).workflows().is_dir() {
            runner.ask_at_gates();
        }
        let places = self.places.clone();
        let beginning = CoreParams {
            state,
            store,
            places,
            journal,
            wanted,
            runner,
            notes,
            presence,
            answer_key,
            phones,
        };
        let mut core = Core::new(beginning);
        failpoints::point("start.resumed");
        outside.spawn(stop_on_signals(messages.clone()));
        outside.spawn(server::watch_socket(folder.clone(), messages.clone()));
        if let Some(page) = &self.page {
            page.begin(CoreHandle::new(messages.clone()));
        }
        outside.spawn(server::serve(listener, messages, self.page.clone(), files / 2));
        let (done, outside) = run_outside(outside).map_err(no_threads)?;
        tracing::info!(pid = std::process::id(), "the daemon is running");
        let inside = runtime().map_err(no_threads)?;
        let ended = inside.block_on(core.run(taken));
        tracing::info!("the daemon is stopping");
        if ended.is_ok() {
            core.presence.end();
        }
        // While we still hold the store: the next daemon creates its own socket.
        let _ = std::fs::remove_file(folder.socket());
        drop(core);
        drop((grown, logs, done));
        let _ = outside.join();
        Ok(ended?)
    }
}

/// Runs a runtime in a thread of its own, until what is returned first is dropped.
fn run_outside(outside: Runtime) -> io::Result<(oneshot::Sender<()>, thread::JoinHandle<()>)> {
    let (done, is_done) = oneshot::channel::<()>();
    let thread = thread::Builder::new().name("outside".to_owned()).spawn(move || {
        // Dropping the sender is the signal.
        let _ = outside.block_on(is_done);
        outside.shutdown_background();
    })?;
    Ok((done, thread))
}

/// Raises the limit on open files as far as the system allows; a thousand agents need more than the
/// default. Returns the limit.
fn raise_file_limit() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    const ENOUGH: u64 = 65_536;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(ENOUGH).min(ENOUGH);
    let soft = current.unwrap_or(ENOUGH);
    let raised = Rlimit { current: Some(wanted), maximum };
    let limit =
        if soft < wanted && setrlimit(Resource::Nofile, raised).is_ok() { wanted } else { soft };
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn listen(outside: &Runtime, folder: &DaemonFolder) -> Result<UnixListener, DaemonError> {
    let _inside = outside.enter();
    let no_socket = |error| DaemonError::System { what: "cannot create the socket", error };
    server::listen(folder).map_err(no_socket)
}

/// Returns what makes the codes of buttons; without a key, they do not answer.
fn answer_codes(settings: &Settings, state: &Path, notes: &mut Vec<String>) -> Option<AnswerCodes> {
    AnswerCodes::of(&settings.notify, state).unwrap_or_else(|error| {
        notes.push(format!("buttons in notices do not answer, for want of a key: {error}"));
        None
    })
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().max_blocking_threads(4).build()
}

/// Rebuilds the state from what is stored. Side effects are not repeated.
fn fold(
    snapshot: Option<serde_json::Value>,
    entries: Vec<(u64, serde_json::Value)>,
    wanted: &BTreeSet<anyhook_model::notice::NoticeKind>,
) -> Result<DaemonState, DaemonError> {
    let mut state: DaemonState = match snapshot {
        Some(snapshot) => serde_json::from_value(snapshot).map_err(DaemonError::Foreign)?,
        None => DaemonState::default(),
    };
    for (sequence, entry) in entries {
        let entry: StateEntry = serde_json::from_value(entry).map_err(DaemonError::Foreign)?;
        let effects = state.apply(&entry, wanted);
        state.keep_told(sequence, &entry, &effects);
    }
    Ok(state)
}

async fn stop_on_signals(messages: mpsc::Sender<CoreMessage>) {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    let _ = messages.send(CoreMessage::Stop).await;
}
