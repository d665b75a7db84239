//! Wiring into agents and out again: what becomes of their settings files, and the record by which
//! that is taken back to the byte.

use std::path::PathBuf;

use anyhook_engine::run::environment::{path_file, record_path};
use anyhook_hook::environment::Environment;
use anyhook_hosts::wiring::{Call, Edits, Scope, Texts};
use anyhook_hosts::{AGENTS, HostSpec};

use crate::error::SetupError;
use crate::settings::{self, Change, Installation};

/// What is to be done for one agent: its settings as they are, and as they become.
pub struct Plan {
    /// The agent.
    pub agent: &'static HostSpec,
    /// Its settings files as they are.
    pub texts: Texts,
    /// Those that change.
    pub edits: Edits,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let agent = self.agent.id();
        formatter
            .debug_struct("Plan")
            .field("agent", &agent)
            .field("edits", &self.edits)
            .finish_non_exhaustive()
    }
}

/// Returns the agents that were named, or those that are here.
pub fn chosen(names: &[String], scope: &Scope) -> Result<Vec<&'static HostSpec>, SetupError> {
    if names.is_empty() {
        return Ok(AGENTS.into_iter().filter(|agent| settings::is_here(agent, scope)).collect());
    }
    let mut chosen: Vec<&'static HostSpec> = Vec::new();
    for name in names {
        let agent = settings::find(name)?;
        if chosen.iter().all(|other| other.id() != agent.id()) {
            chosen.push(agent);
        }
    }
    Ok(chosen)
}

impl Plan {
    /// Works out how an agent comes to call us.
    pub fn wire(agent: &'static HostSpec, scope: &Scope, call: &Call) -> Result<Self, SetupError> {
        let texts = settings::read(agent, scope)?;
        let mut edits = agent.settings.wire(scope, &texts, call)?;
        edits.retain(|path, after| texts.get(path) != after.as_ref());
        Ok(Self { agent, texts, edits })
    }

    /// Works out how to get back: what was there before, or, where somebody has edited since, the
    /// text without what is ours.
    pub fn unwire(
        agent: &'static HostSpec,
        scope: &Scope,
        record: Option<&Installation>,
    ) -> Result<Self, SetupError> {
        let texts = settings::read(agent, scope)?;
        let mut edits = agent.settings.unwire(scope, &texts)?;
        for (name, change) in record.into_iter().flat_map(|record| &record.files) {
            let path = PathBuf::from(name);
            if texts.get(&path) == change.after.as_ref() {
                edits.insert(path, change.before.clone());
            }
        }
        edits.retain(|path, after| texts.get(path) != after.as_ref());
        Ok(Self { agent, texts, edits })
    }

    /// Writes the settings, and keeps a record of what was there before.
    pub fn install(&self, scope: &Scope, environment: &Environment) -> Result<(), SetupError> {
        let Self { agent, texts, edits } = self;
        if edits.is_empty() {
            return Ok(());
        }
        let state = environment.places.state.as_ref().ok_or(SetupError::NoState)?;
        // The first installation knows what was there before; a second must not forget it. Where
        // somebody has edited since, what was there before is their text without what is ours.
        let without_us = agent.settings.unwire(scope, texts)?;
        let mut record = Installation::load(state, agent, scope).unwrap_or_default();
        record.v = 1;
        let call = settings::call(environment).ok();
        record.program = call.map(|call| call.small.unwrap_or(call.binary));
        for (path, after) in edits {
            let name = path.to_string_lossy().into_owned();
            let now = texts.get(path).cloned();
            let before = match record.files.get(&name) {
                Some(old) if old.after == now => old.before.clone(),
                _ => without_us.get(path).cloned().unwrap_or(now),
            };
            record.files.insert(name, Change { before, after: after.clone() });
        }
        record.keep(state, agent, scope)?;
        settings::write(edits)
    }
}

/// Records where programs are found now, by which guards find theirs: not by the agent's `PATH`.
pub fn record_program_path(environment: &Environment) -> Result<(), SetupError> {
    let Some(state) = &environment.places.state else { return Ok(()) };
    let path = std::env::var_os("PATH").unwrap_or_default();
    record_path(state, &path)
        .map_err(|cause| SetupError::PathNotRecorded { path: path_file(state), cause })
}

/// Compares settings files with what they were before an installation. Returns each with whether it
/// is the same.
pub fn compare_with_record(
    agent: &HostSpec,
    scope: &Scope,
    record: &Installation,
) -> Result<Vec<(PathBuf, bool)>, SetupError> {
    let now = settings::read(agent, scope)?;
    let compared = record.files.iter().map(|(name, change)| {
        let path = PathBuf::from(name);
        let is_same = now.get(&path) == change.before.as_ref();
        (path, is_same)
    });
    Ok(compared.collect())
}
