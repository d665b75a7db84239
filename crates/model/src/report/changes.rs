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
    /// The programs that agents call, copied to a permanent location; those that are already there
    /// are omitted.
    pub programs: Vec<CopiedProgram>,
}

/// An agent that calls anyhook.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstalledAgent {
    /// The name used on the command line.
    pub id: String,
    /// Its display name.
    pub title: String,
    /// The version anyhook was tested with; null if the agent was never run.
    pub tried_version: Option<String>,
    /// `installed`, or `unchanged` if everything was already installed.
    pub result: String,
    /// The settings files that changed.
    pub files: Vec<ChangedFile>,
    /// The agent's own names for the events at which it calls anyhook, if its settings list them.
    pub events: Vec<String>,
    /// Other hooks at these events, which are kept and run in addition to anyhook.
    pub kept: Vec<String>,
    /// Events the agent does not have.
    pub missing_events: Vec<EventKind>,
    /// Events at which a hook can block in other agents, but not in this one.
    pub cannot_block: Vec<EventKind>,
    /// Whether a hook can ask the user before a tool runs.
    pub can_ask: bool,
    /// Whether a hook can add context for the model before a tool runs.
    pub takes_context: bool,
    /// What keeps it from calling anyhook in this project although anyhook is installed.
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
    /// Only for `uninstall`: `exactly` if the file is as it was before the installation, `edited`
    /// if it was edited since, `unknown` without a record of the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<String>,
}

/// A program that was copied, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopiedProgram {
    /// Its path.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it replaced a different build.
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

/// An agent that no longer calls anyhook.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UninstalledAgent {
    /// The name used on the command line.
    pub id: String,
    /// Its display name.
    pub title: String,
    /// `uninstalled`, or `not_installed` if there was nothing to remove.
    pub result: String,
    /// Hooks of the agent's own that `anyhook import` had taken out of its settings, and that are
    /// in them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<String>,
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
    /// Its name, as `anyhook trust` accepts it.
    pub name: String,
    /// `hook`, `runbook` or `mcp`.
    pub kind: String,
    /// Its folder or file.
    pub path: String,
    /// Whether it is trusted now.
    pub trusted: bool,
    /// What keeps a hook from running although it is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Whether a hook overrides the user's hook of the same name.
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
    /// The pack that was added, if any.
    pub pack: Option<String>,
    /// The hooks that were added; hooks of a pack that were already installed are omitted.
    pub hooks: Vec<PlacedHook>,
    /// The commands that a pack added to agents.
    pub commands: Vec<PlacedCommand>,
    /// Where the pack comes from, as `packs.lock` records it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The digest of the pack's content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Whether the hooks run in shadow mode, because an agent added them.
    pub shadow: bool,
    /// Whether the hooks run only after they are trusted.
    pub needs_trust: bool,
}

/// An installed hook.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedHook {
    /// The hook's name.
    pub name: String,
    /// Its folder.
    pub folder: String,
}

/// An installed command of an agent.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedCommand {
    /// The agent's name on the command line.
    pub agent: String,
    /// What the user types to run it.
    pub call: String,
    /// The file.
    pub path: String,
}

/// `anyhook remove --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoveReport {
    /// The name of the hook or pack.
    pub name: String,
    /// The folders and files that were removed.
    pub removed: Vec<String>,
    /// The folder in which they are kept; `anyhook add` can restore a hook from there.
    pub kept: String,
    /// What has the name of a part of the pack but is not the pack's, and was therefore kept.
    pub left: Vec<String>,
}

/// `anyhook update --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UpdateReport {
    /// Whether this is only what would be done (`--dry-run`).
    pub dry_run: bool,
    /// Each pack that was looked at.
    pub packs: Vec<UpdatedPack>,
}

/// A pack, and how its source differs from what was added.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UpdatedPack {
    /// Its name.
    pub name: String,
    /// `user` or `project`.
    pub level: String,
    /// Where it comes from.
    pub source: String,
    /// `unchanged`, `updated`, `would_update` with `--dry-run`, or `conflict`: nothing was written,
    /// because some of it was changed here.
    pub result: String,
    /// The digest of its content before.
    pub before: String,
    /// The digest of its content now.
    pub after: String,
    /// The commit now, if it comes from git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What its hooks may do differently.
    pub permissions: Vec<PermissionChange>,
    /// Its files that change.
    pub files: Vec<ChangedFile>,
    /// Hooks and command files that were changed here, or that are not the pack's.
    pub conflicts: Vec<String>,
    /// The folder in which what was changed here is kept (`--theirs`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Whether the hooks run only after they are trusted again.
    pub needs_trust: bool,
}

/// Something that a hook may do differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PermissionChange {
    /// The hook.
    pub hook: String,
    /// What changes, such as `trigger`, `on_failure` or `script`.
    pub what: String,
    /// What it was; absent for what is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it is; absent for what is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
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
    /// How many calls it would have blocked in shadow mode, according to the journal.
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
    /// The files in it, by relative path.
    pub files: Vec<String>,
    /// Whether it runs only after it is trusted.
    pub needs_trust: bool,
}

/// `anyhook emit --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmitReport {
    /// The id of the record in the journal.
    pub record: String,
    /// The type of the event, such as `agent:idle`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The agent it is about.
    pub agent: String,
}

/// `anyhook reload --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReloadReport {
    /// The guards for which running sessions now use the current version; empty for all guards.
    pub guards: Vec<String>,
}

/// `anyhook undo --json`
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UndoReport {
    /// Whether this is only what would be done (`--dry-run`).
    pub dry_run: bool,
    /// The checkpoint whose files are back; none with `--list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointReport>,
    /// The checkpoint of the state before, which undoes this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// The files that change.
    pub files: Vec<UndoneFile>,
    /// With `--list`: every checkpoint of the working tree.
    pub checkpoints: Vec<CheckpointReport>,
}

/// A checkpoint of a working tree.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckpointReport {
    /// Its id.
    pub id: String,
    /// When it was made.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: jiff::Timestamp,
    /// The session it was made in.
    pub session: String,
    /// What the agent was about to do.
    pub before: String,
}

/// A file that an undo changes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UndoneFile {
    /// Its path in the working tree.
    pub path: String,
    /// `restored`, `deleted`, or `skipped` if it cannot be changed.
    pub change: String,
}
