//! What `anyhook import` prints with `--json`: an agent's own hooks, and what becomes of them.

use serde::Serialize;

use super::changes::ChangedFile;

/// `anyhook import --json`
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportReport {
    /// `listed` (`--list`), `proposed` (`--dry-run`), `done`, `unchanged` if there was nothing to
    /// do, or `restored` (`--restore`).
    pub result: String,
    /// The agent, by the name used on the command line.
    pub host: String,
    /// Its display name.
    pub title: String,
    /// `user` or `project`: whose settings are meant.
    pub level: String,
    /// Whether the agent calls anyhook; otherwise imported hooks do not run.
    pub is_called: bool,
    /// The folder of the imported hooks.
    pub hooks_folder: String,
    /// The hooks in the agent's settings, then those that were taken out of them.
    pub hooks: Vec<ImportedHook>,
    /// The settings files that changed, or would.
    pub files: Vec<ChangedFile>,
    /// The imported hooks that were removed, or would be (`--restore`).
    pub removed: Vec<String>,
    /// The folder in which they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// A hook of an agent's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedHook {
    /// The settings file.
    pub file: String,
    /// The agent's name for the event.
    pub event: String,
    /// Its matcher, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// The command, or what it is instead.
    pub command: String,
    /// `importable`; `imported`: it is still in the settings, too; `parked`: it was imported and
    /// taken out of the settings; `restored`: it is in the settings again; `not_carried_over`.
    pub state: String,
    /// The name of the hook that it became, or would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why it is not carried over, or why an imported hook does not stand in for it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// In what the imported hook differs.
    pub notes: Vec<String>,
}
