//! What commands that change something print with `--json`: what was done, or would be.

use serde::Serialize;

use super::HostObstacle;
use crate::kind::EventKind;

/// `anyhook install --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstallReport {
    /// Whether this is only what would be done (`--dry-run`).
    pub dry_run: bool,
    /// Each agent that was named or found.
    pub agents: Vec<InstalledAgent>,
    /// The programs that agents call, copied to where they stay; those that are there already are
    /// left out.
    pub programs: Vec<CopiedProgram>,
}

/// An agent that calls us.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstalledAgent {
    /// The name used on the command line.
    pub id: String,
    /// Its display name.
    pub title: String,
    /// The version anyhook was tested with.
    pub tried_version: String,
    /// `installed`, or `unchanged` if everything was there already.
    pub result: String,
    /// The settings files that changed.
    pub files: Vec<ChangedFile>,
    /// The agent's own names of the events at which it calls us, where its settings list them.
    pub events: Vec<String>,
    /// Other hooks at these events, which stay and run beside ours.
    pub kept: Vec<String>,
    /// Events the agent does not have.
    pub missing_events: Vec<EventKind>,
    /// Events at which a hook could block in other agents, and not in this one.
    pub cannot_block: Vec<EventKind>,
    /// Whether a hook can ask the user before a tool runs.
    pub can_ask: bool,
    /// Whether a hook can tell the model something before a tool runs.
    pub takes_context: bool,
    /// What keeps it from calling us in this project although it is installed.
    pub obstacles: Vec<HostObstacle>,
}

/// A settings file that changed, or would.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedFile {
    /// The file.
    pub path: String,
    /// `created`, `changed`, `removed`, or `unchanged`.
    pub change: String,
    /// What changed, as a unified diff (`--diff`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Of `uninstall`: `exactly` if the file is as before the installation, `edited` if it was
    /// edited since, `unknown` without a record of the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<String>,
}

/// A program that was copied, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopiedProgram {
    /// Where it is now.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Whether another build of it was there.
    pub replaced: bool,
}

/// `anyhook uninstall --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UninstallReport {
    /// Whether this is only what would be done (`--dry-run`).
    pub dry_run: bool,
    /// Each agent that was named or found.
    pub agents: Vec<UninstalledAgent>,
}

/// An agent that no longer calls us.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UninstalledAgent {
    /// The name used on the command line.
    pub id: String,
    /// Its display name.
    pub title: String,
    /// `uninstalled`, or `not_installed` if there was nothing to remove.
    pub result: String,
    /// The settings files that changed.
    pub files: Vec<ChangedFile>,
}

/// `anyhook trust --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrustReport {
    /// What was trusted, or with `--show` could be.
    pub items: Vec<TrustedItem>,
}

/// A hook, a runbook or a file of MCP servers of a project.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrustedItem {
    /// Its name, as `anyhook trust` takes it.
    pub name: String,
    /// `hook`, `runbook` or `mcp`.
    pub kind: String,
    /// Its folder or file.
    pub path: String,
    /// Whether it is trusted now.
    pub trusted: bool,
    /// What keeps a hook from running, although it is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Whether a hook takes the place of the user's of its name.
    pub replaces: bool,
}

/// `anyhook untrust --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UntrustReport {
    /// The names of what is no longer trusted.
    pub untrusted: Vec<String>,
}

/// `anyhook add --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AddReport {
    /// The pack that was added, if it is one.
    pub pack: Option<String>,
    /// The hooks that were added; those of a pack that were there already are left out.
    pub hooks: Vec<PlacedHook>,
    /// The commands that agents got with a pack.
    pub commands: Vec<PlacedCommand>,
    /// Whether the hooks decide nothing yet, because an agent added them.
    pub shadow: bool,
    /// Whether the hooks run only once they are trusted.
    pub needs_trust: bool,
}

/// A hook in its place.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedHook {
    /// The hook's name.
    pub name: String,
    /// Its folder.
    pub folder: String,
}

/// A command for an agent in its place.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedCommand {
    /// The agent's name on the command line.
    pub agent: String,
    /// What people type there.
    pub call: String,
    /// The file.
    pub path: String,
}

/// `anyhook remove --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoveReport {
    /// The hook or the pack.
    pub name: String,
    /// The folders and files that were removed.
    pub removed: Vec<String>,
    /// The folder in which they are kept; `anyhook add` takes a hook from there.
    pub kept: String,
    /// What has the name of a part of the pack and is not the pack's, so that it stays.
    pub left: Vec<String>,
}

/// `anyhook promote --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromoteReport {
    /// The hook.
    pub hook: String,
    /// Its HOOK.md.
    pub file: String,
    /// `promoted`, `unchanged` if it is already enforced, or `would_promote` with `--dry-run`.
    pub result: String,
    /// The line that changed, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// How many calls it would have blocked while it was only watched, as far as the journal tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_have_blocked: Option<u64>,
}

/// `anyhook new --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewReport {
    /// The hook's name.
    pub name: String,
    /// Its folder.
    pub folder: String,
    /// The files in it, by their paths there.
    pub files: Vec<String>,
    /// Whether it runs only once it is trusted.
    pub needs_trust: bool,
}

/// `anyhook emit --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmitReport {
    /// The id of the record in the journal.
    pub record: String,
    /// What was told, such as `agent:idle`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The agent it is about.
    pub agent: String,
}

/// `anyhook reload --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReloadReport {
    /// The guards that sessions use as they are now; empty for all of them.
    pub guards: Vec<String>,
}
