//! What `anyhook init` prints with `--json`: what was found, what is proposed, and what was done.

use serde::Serialize;

/// `anyhook init --json`
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InitReport {
    /// `proposed` if nothing was changed, `done`, `unchanged` if there was nothing to do, or
    /// `undone` (`--undo`).
    pub result: String,
    /// The agents on this machine.
    pub agents: Vec<InitAgent>,
    /// The project, if there is one.
    pub project: Option<InitProject>,
    /// The packs that come with anyhook, the proposed ones first.
    pub packs: Vec<InitPack>,
    /// What now happens, and when; empty if nothing was done.
    pub effects: Vec<InitEffect>,
    /// The record by which it is undone, if something was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

/// An agent on this machine.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InitAgent {
    /// The name used on the command line.
    pub id: String,
    /// Its display name.
    pub title: String,
    /// Whether it called anyhook already, by the user's settings.
    pub was_installed: bool,
    /// Whether anyhook is to be installed in it, or was.
    pub chosen: bool,
    /// Hooks in its settings that are not anyhook's; unless they are imported, they keep running.
    pub native_hooks: Vec<InitNativeHook>,
    /// What of them `anyhook import` can import, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<InitImport>,
    /// Why anyhook cannot be installed in it, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What a canary showed, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<InitProof>,
    /// How its settings were left by `--undo`: `exactly` as before, `edited` if they were edited
    /// since, or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<String>,
}

/// A hook in an agent's own settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InitNativeHook {
    /// The settings file, or the file of a plugin.
    pub file: String,
    /// The agent's name for the event; absent for a plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The command; absent for a plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Hooks of an agent's own that can become anyhook's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InitImport {
    /// The names that they get.
    pub hooks: Vec<String>,
    /// How many others stay in the settings.
    pub staying: usize,
    /// Whether they are to be imported, or were; by `--undo`, that they were put back.
    pub chosen: bool,
}

/// What an agent was told about a canary: a harmful command that was never run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InitProof {
    /// The command that the agent seemed to be about to run.
    pub command: String,
    /// Whether the agent was told not to run it, in its own form.
    pub denied: bool,
    /// How long the answer took, in microseconds.
    pub took_us: u64,
    /// What went wrong, if it was not denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// The project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InitProject {
    /// Its folder.
    pub root: String,
    /// Whether it is a git repository.
    pub git: bool,
    /// The default branch of its remote, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
    /// Its languages.
    pub languages: Vec<String>,
    /// The command that runs its tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_command: Option<String>,
    /// Its formatters that are installed.
    pub formatters: Vec<String>,
    /// Its linters that are installed.
    pub linters: Vec<String>,
    /// Files at its top that look as if they held secrets.
    pub secret_files: Vec<String>,
}

/// A pack, and whether it is proposed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InitPack {
    /// Its name.
    pub name: String,
    /// `user` or `project`: where it is, or would be added.
    pub level: String,
    /// Whether it was added already.
    pub was_added: bool,
    /// Whether it is proposed here; others may be added, too.
    pub proposed: bool,
    /// Whether it is to be added, or was.
    pub chosen: bool,
    /// Why it is proposed, or what it is for.
    pub reason: String,
    /// Options that are set, as NAME=VALUE.
    pub options: Vec<String>,
    /// Why it cannot be added, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What now happens, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InitEffect {
    /// When.
    pub when: String,
    /// What.
    pub then: String,
    /// The pack that does it.
    pub pack: String,
}
