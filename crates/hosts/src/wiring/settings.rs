//! Wiring into one JSON settings file with `hooks` by event.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhook_model::EventKind;

use super::json_hooks::{self, Handler};
use super::{
    EntryForm, OtherHook, SettingsEdits, SettingsError, SettingsTexts, WiringStatus, form_of,
    is_ours,
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
        let mut found = WiringStatus::default();
        let commands = match self.text(texts) {
            Some(text) => json_hooks::commands(&self.path, text)?,
            None => Vec::new(),
        };
        found.others = self.others(&commands);
        found.before_tool = self.before_tool(&commands);
        for event in events {
            let here: Vec<&String> = commands
                .iter()
                .filter(|(name, _)| name == event)
                .map(|(_, command)| command)
                .collect();
            let has_ours = here.iter().any(|command| is_ours(command, self.host));
            let list = if has_ours { &mut found.events } else { &mut found.missing };
            list.push((*event).to_owned());
            let is_current = |form: EntryForm| {
                form.names_folders && (form.refuses || !self.tool_events.contains(event))
            };
            let mut forms = here.iter().filter_map(|command| form_of(command, self.host));
            if forms.any(|form| !is_current(form)) {
                found.outdated.push((*event).to_owned());
            }
            for command in here {
                let list =
                    if is_ours(command, self.host) { &mut found.ours } else { &mut found.rivals };
                if !list.contains(command) {
                    list.push(command.clone());
                }
            }
        }
        Ok(found)
    }

    fn others(&self, commands: &[(String, String)]) -> Vec<OtherHook> {
        let is_other = |(_, command): &&(String, String)| !is_ours(command, self.host);
        let other = |(event, command): &(String, String)| OtherHook {
            event: event.clone(),
            command: command.clone(),
        };
        commands.iter().filter(is_other).map(other).collect()
    }

    fn before_tool(&self, commands: &[(String, String)]) -> Option<String> {
        let host = crate::find(self.host)?;
        let event = host.native_name(&EventKind::BeforeTool)?;
        let ours =
            |(name, command): &&(String, String)| name == event && is_ours(command, self.host);
        commands.iter().find(ours).map(|(_, command)| command.clone())
    }

    fn text<'texts>(&self, texts: &'texts SettingsTexts) -> Option<&'texts str> {
        texts.get(&self.path).map(String::as_str)
    }
}
