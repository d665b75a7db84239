//! Settings of agents that have lists of entries by event in a JSON file, written from data.

use std::path::PathBuf;

use serde_json::Value;

use super::settings::status;
use super::{
    HookInvocation, Obstacle, SettingsEdits, SettingsError, SettingsScope, SettingsTexts,
    WiringStatus, json_hooks,
};
use crate::spec::SettingsEditor;

/// Our entries in an agent's JSON file, in lists by event.
#[derive(Debug)]
pub(crate) struct ListedEntries {
    /// The host's id.
    pub host: &'static str,
    /// Returns the file.
    pub path: fn(&SettingsScope) -> PathBuf,
    /// The object of the file that has the lists.
    pub object: &'static str,
    /// What a new file starts with, if more than that object is needed.
    pub new_file: Option<&'static str>,
    /// The events at which we are called.
    pub events: &'static [&'static str],
    /// The events at which an unanswered call must be refused.
    pub tool_events: &'static [&'static str],
    /// Returns the entry for an event, as the agent has it in its lists.
    pub entry: fn(&'static str, &HookInvocation) -> Value,
    /// Returns what keeps the agent from calling us there, in any case.
    pub obstacle: fn(&SettingsScope) -> Option<Obstacle>,
}

/// Nothing keeps the agent from calling us.
pub(crate) fn no_obstacle(_: &SettingsScope) -> Option<Obstacle> {
    None
}

impl SettingsEditor for ListedEntries {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![(self.path)(scope)]
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let path = (self.path)(scope);
        let text = texts.get(&path).map(String::as_str).or(self.new_file);
        let entries: Vec<(&str, Value)> =
            self.events.iter().map(|event| (*event, (self.entry)(event, call))).collect();
        let text = json_hooks::wire_in(&path, text, self.host, self.object, &entries)?;
        Ok(SettingsEdits::from([(path, Some(text))]))
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        let path = (self.path)(scope);
        let Some(text) = texts.get(&path) else { return Ok(SettingsEdits::new()) };
        let after = json_hooks::unwire_in(&path, text, self.host, self.object)?;
        Ok(if after == *text {
            SettingsEdits::new()
        } else {
            SettingsEdits::from([(path, Some(after))])
        })
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let path = (self.path)(scope);
        let commands = match texts.get(&path) {
            Some(text) => json_hooks::commands_in(&path, text, self.object)?,
            None => Vec::new(),
        };
        let mut found = status(self.host, self.tool_events, &commands, self.events);
        if !found.ours.is_empty() {
            found.obstacles.extend((self.obstacle)(scope));
        }
        Ok(found)
    }
}
