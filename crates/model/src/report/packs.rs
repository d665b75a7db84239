//! What `anyhook packs` prints with `--json`.

use serde::Serialize;

use crate::pack::{LockedOption, PackOption};

/// A pack, and where it is installed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedPack {
    /// Its name.
    pub name: String,
    /// A short description.
    pub description: String,
    /// Its hooks, in the order they run.
    pub hooks: Vec<PackedHook>,
    /// The commands it adds to agents.
    pub commands: Vec<PackedCommand>,
    /// What can be set about it, with the defaults.
    pub options: Vec<PackOption>,
    /// Where it, or part of it, is installed.
    pub installed: Vec<InstalledPack>,
}

/// A hook of a pack.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackedHook {
    /// Its name.
    pub name: String,
    /// The events it runs at.
    pub triggers: Vec<String>,
    /// What it does.
    pub description: String,
}

/// A command of a pack.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackedCommand {
    /// Its name, typed after a `/`, or after a `$` in Codex.
    pub name: String,
    /// A one-word description of its argument.
    pub argument: String,
    /// What it does.
    pub description: String,
}

/// A pack at a level.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstalledPack {
    /// `user` or `project`.
    pub level: String,
    /// The `hooks` folder.
    pub folder: String,
    /// `same`, `changed` or `missing`: how what is there compares with what was added.
    pub state: String,
    /// Where it comes from; absent if `packs.lock` does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The branch, tag or commit that was asked for.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit that was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The digest of its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Whether its source has another content now; only with `--updates`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_available: Option<bool>,
    /// What can be set about it, and the values that were set.
    pub options: Vec<LockedOption>,
    /// Hooks of the pack that are missing.
    pub missing: Vec<String>,
    /// Hooks, by name, and command files that differ from the pack's.
    pub changed: Vec<String>,
    /// The agents' command files that exist.
    pub command_files: Vec<String>,
}
