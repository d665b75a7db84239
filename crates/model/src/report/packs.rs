//! What `anyhook packs` prints with `--json`.

use serde::Serialize;

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
    /// Hooks of the pack that are missing.
    pub missing: Vec<String>,
    /// Hooks, by name, and command files that differ from the pack's.
    pub changed: Vec<String>,
    /// The agents' command files that exist.
    pub command_files: Vec<String>,
}
