//! The state file: the truth about a workflow.
//!
//! Whoever changes it holds a lock from reading to writing, so that two completions at once lose
//! nothing. It is written aside and renamed; the one before it stays beside it, as a way back.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhook_daemon::faults;
use anyhook_engine::regular_file::open_regular;
use anyhook_model::{EventKind, Payload, Record};
use anyhook_workflow::machine::{self, Effects, Start};
use anyhook_workflow::refusal::Refusal;
use anyhook_workflow::schemas::Kind;
use anyhook_workflow::state::{HistoryLine, State};
use anyhook_workflow::words::{Mode, Risk};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde_json::Value;

use super::project::{Project, Unreadable, invalid, write_whole};
use super::{registry, watcher};
use crate::environment::Environment;
use crate::error::Trouble;
use crate::ui::{Out, Tone};

/// Nobody holds the lock for longer than it takes to write a file.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often whoever waits for the lock looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a person is told about a state file that cannot be used.
const WAY_BACK: &str = "`anyhook workflow reset --previous` takes the state before it, `anyhook workflow reset --all` begins anew; both keep this file";

impl Project {
    /// Returns the state file.
    pub fn state_file(&self) -> PathBuf {
        self.system().join(Kind::STATE.row().file)
    }

    /// Returns the state before the last change.
    pub fn previous_file(&self) -> PathBuf {
        self.system().join("workflow-state.previous.json")
    }

    /// Reads the state; none if the workflow was not begun.
    pub fn state(&self) -> Result<Option<State>, Trouble> {
        match self.read_state(&self.state_file()) {
            Ok(state) => Ok(state),
            Err(trouble) => Err(trouble.hint(WAY_BACK)),
        }
    }

    /// Reads a state.
    pub fn read_state(&self, file: &Path) -> Result<Option<State>, Trouble> {
        let path = file.strip_prefix(&self.root).unwrap_or(file).to_string_lossy().into_owned();
        let value = match self.read_json(&path) {
            Ok(value) => value,
            Err(Unreadable::Absent) => return Ok(None),
            Err(error) => return Err(error.trouble(&path)),
        };
        State::read(&value).map(Some).map_err(|faults| invalid(&path, &faults))
    }

    /// Reads the state of a workflow that was begun.
    pub fn begun(&self) -> Result<State, Trouble> {
        let state = self.state()?.ok_or_else(not_begun)?;
        match state.fits(&self.definition) {
            None => Ok(state),
            Some(refusal) => Err(refused(&refusal)),
        }
    }

    /// Begins the workflow; tells whether it was not begun before.
    pub fn begin(&self, environment: &Environment) -> Result<(State, bool), Trouble> {
        let _lock = self.lock()?;
        if let Some(state) = self.state()? {
            return Ok((state, false));
        }
        let (state, effects) = self.fresh()?;
        self.write(environment, &state)?;
        journal(self, environment, &effects.told);
        if !effects.ask.is_empty() {
            watcher::announce(environment);
        }
        Ok((state, true))
    }

    /// Returns a state in which everything is still to be done.
    pub fn fresh(&self) -> Result<(State, Effects), Trouble> {
        let config = self.config()?.unwrap_or_default();
        let told = |name: &str| config.get(name).and_then(Value::as_str).map(str::to_owned);
        let start = Start {
            id: anyhook_engine::new_id().to_string(),
            mode: told("execution_mode").as_deref().and_then(Mode::find),
            risk: told("risk_level").as_deref().and_then(Risk::find),
        };
        Ok(machine::start(&self.definition, start, anyhook_engine::now()))
    }

    /// Changes the state: locks it, reads it, writes it, and journals what was told.
    pub fn change(
        &self,
        environment: &Environment,
        change: impl FnOnce(&State) -> Result<(State, Effects), Refusal>,
    ) -> Result<(State, Effects), Trouble> {
        let _lock = self.lock()?;
        let before = self.state()?.ok_or_else(not_begun)?;
        let (state, effects) = change(&before).map_err(|refusal| refused(&refusal))?;
        if !effects.is_unchanged {
            self.write(environment, &state)?;
            journal(self, environment, &effects.told);
            if !effects.ask.is_empty() {
                watcher::announce(environment);
            }
        }
        Ok((state, effects))
    }

    /// Holds the lock of the state until it is dropped.
    pub fn lock(&self) -> Result<File, Trouble> {
        let folder = self.system();
        self.make_folder(&folder)?;
        let path = folder.join(".workflow-state.lock");
        // The folder is the project's: what is in the lock's place may be anything.
        let open = open_regular(&path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE);
        let file = open.map_err(|error| {
            Trouble::at(&path, error).hint("remove it: the lock is an empty file of its own")
        })?;
        let until = Instant::now() + PATIENCE;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => {
                    thread::sleep(LOOK_EVERY);
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let why = "another process has been changing the workflow's state for too long";
                    return Err(Trouble::problem(why)
                        .hint(format!("`fuser {}` says which", path.display())));
                }
                Err(error) => return Err(Trouble::at(&path, error)),
            }
        }
    }

    /// Writes the state; whoever does holds the lock.
    pub fn write(&self, environment: &Environment, state: &State) -> Result<(), Trouble> {
        let file = self.state_file();
        let bytes = serde_json::to_vec_pretty(&state.to_json()).map_err(std::io::Error::from)?;
        faults::point("workflow.state.begun");
        self.keep_previous()?;
        faults::point("workflow.state.kept");
        write_whole(&file, &bytes).map_err(|error| Trouble::at(&file, error))?;
        faults::point("workflow.state.written");
        registry::remember(self, environment, state);
        Ok(())
    }

    /// Keeps what is there beside it. At any time one of both is whole.
    fn keep_previous(&self) -> Result<(), Trouble> {
        let (file, previous) = (self.state_file(), self.previous_file());
        let Ok(bytes) = fs::read(&file) else { return Ok(()) };
        write_whole(&previous, &bytes).map_err(|error| Trouble::at(&previous, error))
    }
}

/// Writes into the journal what happened to a workflow.
///
/// It has happened: where nothing can be journaled, as in an agent's sandbox, a warning says so.
pub fn journal(project: &Project, environment: &Environment, told: &[HistoryLine]) {
    let records = told.iter().map(|line| {
        let kind = EventKind::Other(format!("workflow:{}", line.what.replace(' ', "_")));
        let mut record = Record::new(anyhook_engine::new_id(), line.at, "anyhook", kind);
        record.work_dir = project.root.display().to_string();
        record.project_dir = Some(record.work_dir.clone());
        record.about = Some(words(line));
        if let Ok(text) = serde_json::to_string(line) {
            record.payload = Some(Payload::new(text.as_bytes()));
        }
        record
    });
    let engine = anyhook_engine::Engine::new(environment.places.clone());
    if let Err(error) = engine.journal(records.collect()) {
        let why = format!("this could not be journaled: {error}");
        let _ = Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &why)]);
    }
}

/// Returns a line of the history in words: where, what, by whom, why.
pub fn words(line: &HistoryLine) -> String {
    let stage = line.stage.as_ref().map(|stage| format!("{stage} ")).unwrap_or_default();
    format!("{stage}{}", deed(line))
}

/// Returns a line of the history in words, without where it was.
pub fn deed(line: &HistoryLine) -> String {
    let by = line.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let note = line.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("{}{by}{note}", line.what)
}

/// Says why something was not done.
pub fn refused(refusal: &Refusal) -> Trouble {
    Trouble::input(refusal.to_string()).hint(refusal.hint())
}

fn not_begun() -> Trouble {
    Trouble::input("the workflow was not begun here").hint("anyhook workflow init")
}
