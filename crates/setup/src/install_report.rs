//! What `install` and `uninstall` report: the files that change, line by line, and what each agent
//! can do.

use std::io;
use std::path::{Path, PathBuf};

use anyhook_hook::environment::Environment;
use anyhook_hosts::HostSpec;
use anyhook_hosts::capabilities::Capability;
use anyhook_hosts::wiring::{Obstacle, SettingsScope};
use anyhook_model::EventKind;
use anyhook_model::report::HostObstacle;
use anyhook_model::report::changes::{
    ChangedFile, CopiedProgram, InstalledAgent, UninstalledAgent,
};
use anyhook_terminal::{Out, Tone};
use similar::{ChangeTag, TextDiff};

use crate::error::SetupError;
use crate::install::{InstallPlan, RestoreResult, SettingsChange};
use crate::settings::{self, ProgramCopy};

/// Events that a hook's author expects to be able to block.
const BLOCKABLE: [EventKind; 7] = [
    EventKind::SessionStart,
    EventKind::BeforeAgent,
    EventKind::BeforeStop,
    EventKind::BeforeTool,
    EventKind::SubagentStart,
    EventKind::SubagentStop,
    EventKind::PreCompact,
];

/// Reports what a plan does for an agent, and what the agent cannot do.
pub fn installed(
    plan: &InstallPlan,
    scope: &SettingsScope,
    with_diff: bool,
    environment: &Environment,
) -> Result<InstalledAgent, SetupError> {
    let agent = plan.agent;
    let found = plan.outcome(scope)?;
    let limits = Limits::of(agent);
    let obstacle = |Obstacle { what, way_out }: Obstacle| HostObstacle { what, way_out };
    Ok(InstalledAgent {
        id: agent.id().to_owned(),
        title: agent.title.to_owned(),
        tried_version: agent.tried_version().map(str::to_owned),
        result: if plan.edits.is_empty() { "unchanged" } else { "installed" }.to_owned(),
        files: changed_files(plan, with_diff),
        events: found.events,
        kept: found.rivals,
        missing_events: limits.missing,
        cannot_block: limits.powerless,
        can_ask: limits.can_ask,
        takes_context: limits.takes_context,
        obstacles: settings::obstacles(agent, environment).into_iter().map(obstacle).collect(),
    })
}

/// Reports a program that was copied for agents to call.
pub fn copied(copy: &ProgramCopy) -> CopiedProgram {
    CopiedProgram {
        path: copy.target.to_string_lossy().into_owned(),
        bytes: copy.length(),
        replaced: copy.replaces,
    }
}

/// Reports what was taken out of an agent's settings; `restored` compares them with what was there
/// before the installation.
pub fn uninstalled(
    plan: &InstallPlan,
    restored: &[(PathBuf, RestoreResult)],
    with_diff: bool,
) -> UninstalledAgent {
    let mut files = changed_files(plan, with_diff);
    for (path, how) in restored {
        let path = path.to_string_lossy();
        let restored = Some(how.word().to_owned());
        match files.iter_mut().find(|file| file.path == path) {
            Some(file) => file.restored = restored,
            None => files.push(ChangedFile {
                path: path.into_owned(),
                change: "unchanged".to_owned(),
                diff: None,
                restored,
            }),
        }
    }
    UninstalledAgent {
        id: plan.agent.id().to_owned(),
        title: plan.agent.title.to_owned(),
        put_back: Vec::new(),
        result: if plan.edits.is_empty() { "not_installed" } else { "uninstalled" }.to_owned(),
        files,
    }
}

/// Returns the files that a plan changes, with the full diff of each on request.
fn changed_files(plan: &InstallPlan, with_diff: bool) -> Vec<ChangedFile> {
    let file = |(path, change): (&PathBuf, SettingsChange)| {
        let (before, after) = around(plan, path);
        let diff = || TextDiff::from_lines(before, after).unified_diff().to_string();
        ChangedFile {
            path: path.to_string_lossy().into_owned(),
            change: change.word().to_owned(),
            diff: with_diff.then(diff),
            restored: None,
        }
    };
    plan.changes().map(file).collect()
}

/// Shows the lines of a file that a plan changes.
pub fn show_diff(plan: &InstallPlan, path: &Path, out: &mut Out) -> io::Result<()> {
    let (before, after) = around(plan, path);
    for hunk in TextDiff::from_lines(before, after).unified_diff().context_radius(2).iter_hunks() {
        for change in hunk.iter_changes() {
            let (tone, sign) = match change.tag() {
                ChangeTag::Delete => (Tone::Bad, "-"),
                ChangeTag::Insert => (Tone::Good, "+"),
                ChangeTag::Equal => (Tone::Dim, " "),
            };
            out.line(&[(
                tone,
                &format!("  {sign} {}", change.value().trim_end_matches(['\n', '\r'])),
            )])?;
        }
    }
    Ok(())
}

/// Returns a file's text before and after; empty for a file that does not exist.
fn around<'plan>(plan: &'plan InstallPlan, path: &Path) -> (&'plan str, &'plan str) {
    let before = plan.texts.get(path).map_or("", String::as_str);
    let after = plan.edits.get(path).and_then(Option::as_deref).unwrap_or("");
    (before, after)
}

/// What an agent cannot do although users may rely on it.
struct Limits {
    missing: Vec<EventKind>,
    powerless: Vec<EventKind>,
    can_ask: bool,
    takes_context: bool,
}

impl Limits {
    fn of(agent: &HostSpec) -> Self {
        let rows = agent.protocol.capabilities;
        let events = |filter: &dyn Fn(&&Capability) -> bool| -> Vec<EventKind> {
            rows.iter().filter(filter).map(|row| row.event.clone()).collect()
        };
        let tool = rows.iter().find(|row| row.event == EventKind::BeforeTool);
        Self {
            missing: events(&|row| row.native.is_none()),
            powerless: events(&|row| {
                row.native.is_some() && !row.block && BLOCKABLE.contains(&row.event)
            }),
            can_ask: tool.is_none_or(|row| row.ask),
            takes_context: tool.is_none_or(|row| row.context),
        }
    }
}
