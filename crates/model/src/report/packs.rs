//! What `anyhook packs` prints with `--json`.

use serde::Serialize;

/// A pack, and where it is installed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedPack {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its hooks, those that run first at the front.
    pub hooks: Vec<PackedHook>,
    /// The commands that agents get with it.
    pub commands: Vec<PackedCommand>,
    /// Where it is installed, or parts of it.
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
    /// Its name; a person types it behind a `/`, in Codex behind a `$`.
    pub name: String,
    /// What is typed behind it, in a word.
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
    /// Hooks of the pack that are not there.
    pub missing: Vec<String>,
    /// Hooks, by name, and command files that are not as the pack has them.
    pub changed: Vec<String>,
    /// The agents' command files that are there.
    pub command_files: Vec<String>,
}
