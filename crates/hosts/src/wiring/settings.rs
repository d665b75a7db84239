//! Wiring into one JSON settings file with `hooks` by event.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhook_model::EventKind;

use super::json_hooks::{self, Handler};
use super::{
    EntryForm, EntryLine, OtherHook, SettingsEdits, SettingsError, SettingsTexts, WiringStatus,
    form_of, is_ours,
};

/// One settings file of a host, and the handlers that belong in it.
#[derive(Debug)]
pub struct JsonSettings {
    /// The host's id.
    pub host: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The events at which an unanswered call must be refused.
    pub tool_events: &'static [&'static str],
}

impl JsonSettings {
    /// Returns the file's text with our handlers added.
    pub fn wire(
        &self,
        texts: &SettingsTexts,
        handlers: &[Handler],
    ) -> Result<String, SettingsError> {
        json_hooks::wire(&self.path, self.text(texts), self.host, handlers)
    }

    /// Removes our handlers from the file.
    pub fn unwire(&self, texts: &SettingsTexts) -> Result<SettingsEdits, SettingsError> {
        let Some(text) = self.text(texts) else { return Ok(SettingsEdits::new()) };
        let after = json_hooks::unwire(&self.path, text, self.host)?;
        Ok(if after == text {
            SettingsEdits::new()
        } else {
            BTreeMap::from([(self.path.clone(), Some(after))])
        })
    }

    /// Determines which events have one of our handlers, and what else is there.
    pub fn inspect(
        &self,
        texts: &SettingsTexts,
        events: &[&str],
    ) -> Result<WiringStatus, SettingsError> {
        Ok(self.status(&self.commands(texts)?, events))
    }

    /// Returns the commands of all handlers in the file, with their events.
    pub fn commands(&self, texts: &SettingsTexts) -> Result<Vec<(String, String)>, SettingsError> {
        self.text(texts).map_or(Ok(Vec::new()), |text| json_hooks::commands(&self.path, text))
    }

    /// Determines from commands, with their events, which of them are ours.
    pub fn status(&self, commands: &[(String, String)], events: &[&str]) -> WiringStatus {
        status(self.host, self.tool_events, commands, events)
    }

    fn text<'texts>(&self, texts: &'texts SettingsTexts) -> Option<&'texts str> {
        texts.get(&self.path).map(String::as_str)
    }
}

/// Determines from the commands in a host's settings, each with its event, at which events it calls
/// us, and what else it calls.
pub(crate) fn status(
    host: &str,
    tool_events: &[&str],
    commands: &[(String, String)],
    events: &[&str],
) -> WiringStatus {
    let mut found = WiringStatus {
        others: others(host, commands),
        before_tool: before_tool(host, commands),
        ..WiringStatus::default()
    };
    for event in events {
        let here: Vec<&String> =
            commands.iter().filter(|(name, _)| name == event).map(|(_, command)| command).collect();
        let has_ours = here.iter().any(|command| is_ours(command, host));
        let list = if has_ours { &mut found.events } else { &mut found.missing };
        list.push((*event).to_owned());
        let is_current =
            |form: EntryForm| form.names_folders && (form.refuses || !tool_events.contains(event));
        let mut forms = here.iter().filter_map(|command| form_of(command, host));
        if forms.any(|form| !is_current(form)) {
            found.outdated.push((*event).to_owned());
        }
        found.entries.extend(here.iter().filter(|command| is_ours(command, host)).map(|command| {
            EntryLine { event: Some((*event).to_owned()), line: (*command).clone() }
        }));
        for command in here {
            let list = if is_ours(command, host) { &mut found.ours } else { &mut found.rivals };
            if !list.contains(command) {
                list.push(command.clone());
            }
        }
    }
    found
}

fn others(host: &str, commands: &[(String, String)]) -> Vec<OtherHook> {
    let is_other = |(_, command): &&(String, String)| !is_ours(command, host);
    let other = |(event, command): &(String, String)| OtherHook {
        event: event.clone(),
        command: command.clone(),
    };
    commands.iter().filter(is_other).map(other).collect()
}

fn before_tool(host: &str, commands: &[(String, String)]) -> Option<String> {
    let event = crate::find(host)?.native_name(&EventKind::BeforeTool)?;
    let ours = |(name, command): &&(String, String)| name == event && is_ours(command, host);
    commands.iter().find(ours).map(|(_, command)| command.clone())
}
