//! What an imported hook was in its agent's settings: `native.json` in its folder.

use std::fs;
use std::path::Path;

use anyhook_hosts::native_hooks::{NativeHook, NativeProgram};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ImportError;

/// The name of the file.
pub const FILE: &str = "native.json";

/// The version of the format.
///
/// - 1: agent, event, and entries with matcher and handler.
pub const VERSION: u32 = 1;

/// What an imported hook was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeDefinition {
    /// The version of this file.
    pub v: u32,
    /// The agent's id.
    pub host: String,
    /// The agent's name for the event.
    pub event: String,
    /// Whether it was in the project's settings, and not in the user's.
    pub project: bool,
    /// Its entries in the settings. The first is run if one of them matches: some agents run a
    /// command once that several of them name.
    pub entries: Vec<NativeEntry>,
}

/// An entry in an agent's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeEntry {
    /// Its matcher, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// The handler, as it was written.
    pub handler: Value,
}

impl From<&NativeHook> for NativeEntry {
    fn from(hook: &NativeHook) -> Self {
        Self { matcher: hook.matcher.clone(), handler: hook.handler.clone() }
    }
}

impl NativeDefinition {
    /// Reads the definition in a hook's folder; `None` if it was not imported.
    pub fn read(folder: &Path) -> Result<Option<Self>, ImportError> {
        let path = folder.join(FILE);
        let broken = |why: String| ImportError::Definition { path: path.clone(), why };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(broken(error.to_string())),
        };
        let definition: Self =
            serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        if definition.v > VERSION {
            let why = format!("version {} is newer than this anyhook", definition.v);
            return Err(broken(why));
        }
        if definition.entries.is_empty() {
            return Err(broken("it has no entry".to_owned()));
        }
        Ok(Some(definition))
    }

    /// Returns whether it was made of this hook.
    pub fn is_of(&self, host: &str, hook: &NativeHook) -> bool {
        self.host == host
            && self.event == hook.event
            && self.entries.iter().any(|entry| *entry == NativeEntry::from(hook))
    }
}

/// Returns whether an agent that runs a command once for an event runs only one of these.
pub fn is_same_command(one: &NativeHook, other: &NativeHook) -> bool {
    let program = |hook: &NativeHook| -> Option<NativeProgram> {
        hook.command.as_ref().ok().map(|command| command.program.clone())
    };
    one.event == other.event && program(one).is_some() && program(one) == program(other)
}
