//! Transactions: every change of a workflow's state is one: lock, read, decide, write, journal.
//!
//! The state is read once, under the lock, and decisions are made on that state. If something is
//! refused, nothing was written.

use std::fs::{self, File};
use std::io;

use anyhook_engine::{Engine, new_id, now};
use anyhook_model::{EventKind, Payload, Record};
use serde_json::Value;

use crate::error::WorkflowError;
use crate::machine::{self, NewWorkflow, PersonDecision, WorkflowEffects};
use crate::project::Project;
use crate::refusal::WorkflowRefusal;
use crate::state::{HistoryLine, WorkflowState};
use crate::submission::LoadedSubmission;
use crate::vocabulary::{Mode, Risk};
use crate::{session, watcher};

/// The result of a change.
#[derive(Debug)]
pub struct StateChange {
    /// The state as it is now.
    pub state: WorkflowState,
    /// What happened, and what must be done.
    pub effects: WorkflowEffects,
    /// Why it could not be journaled, as in the sandbox of an agent. The change was still made.
    pub not_journaled: Option<io::Error>,
}

/// The state that replaces the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The state before the last change.
    Previous,
    /// One in which everything still has to be done.
    Fresh,
}

/// The result of replacing the state.
#[derive(Debug)]
pub struct Replaced {
    /// The change.
    pub changed: StateChange,
    /// The path of the copy of the replaced state, if there was one.
    pub kept: Option<String>,
}

/// A change in progress: the lock is held, the state was read.
struct Transaction<'project> {
    project: &'project Project,
    before: WorkflowState,
    _lock: File,
}

impl<'project> Transaction<'project> {
    /// Locks and reads the state; `None` if the workflow was not started.
    fn begin(project: &'project Project) -> Result<Option<Self>, WorkflowError> {
        // A workflow that was never started has no folder, and looking for it must not create one.
        if !project.system().is_dir() {
            return Ok(None);
        }
        let lock = project.lock()?;
        let before = project.state()?;
        Ok(before.map(|before| Self { project, before, _lock: lock }))
    }

    /// Writes and journals the result.
    fn commit(
        self,
        (state, effects): (WorkflowState, WorkflowEffects),
        ended: Option<Record>,
    ) -> Result<StateChange, WorkflowError> {
        if effects.is_unchanged {
            return Ok(StateChange { state, effects, not_journaled: None });
        }
        write_and_journal(self.project, state, effects, ended)
    }
}

impl Project {
    /// Starts the workflow; returns whether it was not started before.
    pub fn begin(&self) -> Result<(StateChange, bool), WorkflowError> {
        let _lock = self.lock()?;
        if let Some(state) = self.state()? {
            let effects = WorkflowEffects { is_unchanged: true, ..WorkflowEffects::default() };
            return Ok((StateChange { state, effects, not_journaled: None }, false));
        }
        let (state, effects) = self.fresh_state()?;
        Ok((write_and_journal(self, state, effects, None)?, true))
    }

    /// Changes the state of a workflow that follows the rules of its definition.
    pub fn change(
        &self,
        decide: impl FnOnce(&WorkflowState) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal>,
    ) -> Result<StateChange, WorkflowError> {
        let open = Transaction::begin(self)?.ok_or(WorkflowError::NotBegun)?;
        self.check_fit(&open.before)?;
        let decided = decide(&open.before)?;
        open.commit(decided, None)
    }

    /// Continues the workflow by the current rules of its definition.
    pub fn accept_rules(&self, choice: PersonDecision<'_>) -> Result<StateChange, WorkflowError> {
        let open = Transaction::begin(self)?.ok_or(WorkflowError::NotBegun)?;
        let decided = machine::accept_rules(&self.definition, &open.before, choice)?;
        open.commit(decided, None)
    }

    /// Accepts an agent's signal and its artifacts.
    pub fn submit(&self, signal: Value) -> Result<StateChange, WorkflowError> {
        let open = Transaction::begin(self)?.ok_or(WorkflowError::NotBegun)?;
        self.check_fit(&open.before)?;
        let agent = signal.get("agent").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.check_speaker(&agent)?;
        let decided =
            LoadedSubmission::read(self, signal)?.complete(&self.definition, &open.before)?;
        let ended = session::end_of_own(&agent, &self.caller);
        open.commit(decided, ended)
    }

    /// Accepts what an agent has written to its folder; `None` if it is not its turn, or if the
    /// workflow was not started.
    ///
    /// Its session continues: a hook calls this at the session's end, which must not be ended a
    /// second time.
    pub fn submit_of(&self, agent: &str) -> Result<Option<StateChange>, WorkflowError> {
        let Some(open) = Transaction::begin(self)? else { return Ok(None) };
        let Some(signal) = self.signal_of(&open.before, agent)? else { return Ok(None) };
        let decided =
            LoadedSubmission::read(self, signal)?.complete(&self.definition, &open.before)?;
        open.commit(decided, None).map(Some)
    }

    /// Replaces the current state, of which a copy is kept. A state that cannot be read is
    /// replaced, too.
    pub fn replace(
        &self,
        with: Replacement,
        by: &str,
        note: Option<&str>,
    ) -> Result<Replaced, WorkflowError> {
        let _lock = self.lock()?;
        let revision = self.state().ok().flatten().map_or(0, |state| state.revision);
        let (mut state, what) = match with {
            Replacement::Previous => {
                let state = self.previous_state()?.ok_or(WorkflowError::NoPreviousState)?;
                (state, "restored previous state")
            }
            Replacement::Fresh => (self.fresh_state()?.0, "started over"),
        };
        let kept = self.keep_copy()?;
        // It continues from there: everything decided since then must be decided again.
        state.revision = state.revision.max(revision) + 1;
        state.updated_at = now();
        let line = HistoryLine {
            revision: state.revision,
            at: state.updated_at,
            what: what.to_owned(),
            stage: None,
            by: Some(by.to_owned()),
            note: note.map(str::to_owned),
        };
        state.history.push(line.clone());
        let asked = state.stages.iter().filter_map(|(name, one)| Some((name.clone(), one.asks?)));
        let effects = WorkflowEffects {
            ask: asked.collect(),
            told: vec![line],
            ..WorkflowEffects::default()
        };
        Ok(Replaced { changed: write_and_journal(self, state, effects, None)?, kept })
    }

    /// Copies the state file, if there is one, to a separate file; returns its path.
    fn keep_copy(&self) -> Result<Option<String>, WorkflowError> {
        let file = self.state_file();
        if file.symlink_metadata().is_err() {
            return Ok(None);
        }
        let name = format!("workflow-state.{}.json", now().strftime("%Y%m%dT%H%M%S%.3f"));
        let kept = file.with_file_name(&name);
        fs::copy(&file, &kept).map_err(WorkflowError::at(kept))?;
        Ok(Some(self.system_path(&name)))
    }

    /// Returns a state in which everything still has to be done.
    fn fresh_state(&self) -> Result<(WorkflowState, WorkflowEffects), WorkflowError> {
        let config = self.config()?.unwrap_or_default();
        let told = |name: &str| config.get(name).and_then(Value::as_str).map(str::to_owned);
        let start = NewWorkflow {
            id: new_id().to_string(),
            mode: told("execution_mode").as_deref().and_then(Mode::find),
            risk: told("risk_level").as_deref().and_then(Risk::find),
        };
        Ok(machine::start(&self.definition, start, now()))
    }
}

/// Writes a state, journals what happened, and ensures that people are asked if there is a
/// question. The caller holds the lock.
fn write_and_journal(
    project: &Project,
    state: WorkflowState,
    effects: WorkflowEffects,
    ended: Option<Record>,
) -> Result<StateChange, WorkflowError> {
    project.write(&state)?;
    let told = effects.told.iter().map(|line| record(project, line));
    let records = told.chain(ended).collect();
    let journaled = Engine::new(project.caller.places.clone()).journal(records);
    if !effects.ask.is_empty() {
        watcher::announce(&project.caller);
    }
    Ok(StateChange { state, effects, not_journaled: journaled.err() })
}

fn record(project: &Project, line: &HistoryLine) -> Record {
    let kind = EventKind::Other(format!("workflow:{}", line.what.replace(' ', "_")));
    let mut record = Record::new(new_id(), line.at, "anyhook", kind);
    record.work_dir = project.root.display().to_string();
    record.project_dir = Some(record.work_dir.clone());
    record.about = Some(line.sentence());
    if let Ok(text) = serde_json::to_string(line) {
        record.payload = Some(Payload::new(text.as_bytes()));
    }
    record
}

#[cfg(test)]
mod tests;
