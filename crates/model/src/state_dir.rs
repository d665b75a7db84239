//! Paths below the state folder: the one list of names; `docs/reference/files.md` describes what
//! they contain.

use std::path::{Path, PathBuf};

/// The state folder, `$XDG_STATE_HOME/anyhook`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateDir<'path>(&'path Path);

macro_rules! places {
    ($($(#[$doc:meta])+ $method:ident => $path:literal;)+) => {
        impl StateDir<'_> {
            /// Every path below the state folder; a folder ends with `/`.
            pub const PLACES: &'static [&'static str] = &[$($path),+];

            $(
                $(#[$doc])+
                pub fn $method(self) -> PathBuf {
                    self.0.join(without_slash($path))
                }
            )+
        }
    };
}

places! {
    /// The journal.
    journal => "journal/";
    /// The state of each session.
    sessions => "sessions/";
    /// What the user trusts: records and copies.
    trust => "trust/";
    /// The index of installed hooks, ready to be queried.
    index => "index/";
    /// Where hooks that cannot be read now were last known to decide.
    known => "known";
    /// The causes of each hook's consecutive failures.
    failures => "failures/";
    /// Exists while a guard that blocks on failure is installed.
    guarded => "guarded/";
    /// What guards of packs remember of each project.
    guards => "guards/";
    /// The `PATH` that guards get.
    guard_path => "guard-path";
    /// What a person accepted for sessions that had already started.
    accepted => "accepted";
    /// Alarms that were not reported to any session yet.
    alarms => "alarms.jsonl";
    /// What `install` changed in agents' settings.
    installed => "installed/";
    /// What `import` took out of agents' settings.
    parked => "parked/";
    /// What `init` did, so that it can be undone.
    init => "init/";
    /// What was proven of each agent's entries.
    proofs => "proofs/";
    /// The sessions of canaries that are under way.
    canaries => "proofs/canaries/";
    /// The home and the project in which an agent is run for a proof.
    proof_scratch => "proofs/scratch/";
    /// Hooks that `remove` removed.
    removed => "removed/";
    /// The workspaces of pipelines that name no path.
    workspaces => "workspaces/";
    /// The projects with a workflow.
    workflows => "workflows/";
    /// The daemon's files.
    daemon => "daemon/";
    /// The daemon's directives to the hook processes of the agents it started.
    agents => "daemon/agents/";
    /// The key of the codes that buttons in notices answer with.
    answer_key => "daemon/answer-key";
    /// Up to where the answers of an ntfy topic have been read.
    ntfy_position => "daemon/ntfy-position.json";
    /// Notices and the results of their delivery.
    notices => "daemon/notices/";
    /// The folders of pipelines.
    pipelines => "daemon/pipelines/";
    /// Sockets of agents' sessions.
    run => "daemon/run/";
    /// The page in the browser: its address, its sessions, the tokens of programs.
    ui => "ui/";
}

impl<'path> StateDir<'path> {
    /// Wraps the path of the state folder. Nothing is read or created.
    pub fn new(state: &'path Path) -> Self {
        Self(state)
    }
}

const fn without_slash(path: &str) -> &str {
    match path.as_bytes() {
        [.., b'/'] => path.split_at(path.len() - 1).0,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_place_is_below_the_folder() {
        let state = StateDir::new(Path::new("/s"));
        assert_eq!(state.journal(), Path::new("/s/journal"));
        assert_eq!(state.notices(), Path::new("/s/daemon/notices"));
        assert_eq!(state.alarms(), Path::new("/s/alarms.jsonl"));
        assert!(!state.journal().to_str().unwrap().ends_with('/'), "its name is used as it is");
    }

    /// The table "State" of the page names each path, or something below it, and nothing else; that
    /// of the workflows is described with the workflows.
    #[test]
    fn the_page_about_files_tells_of_every_place() {
        let page = include_str!("../../../docs/reference/files.md");
        let table = page.split("\n## State\n").nth(1).and_then(|rest| rest.split("\n## ").next());
        let rows = table.unwrap().lines().filter_map(|line| line.strip_prefix("| `"));
        let named: BTreeSet<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        let is_told = |place: &str| named.iter().any(|name| name.starts_with(place));
        for place in StateDir::PLACES.iter().filter(|place| **place != "workflows/") {
            assert!(is_told(place), "{place} is missing");
        }
        assert!(page.contains("`workflows/` in the state folder"));
        for name in &named {
            let is_ours = StateDir::PLACES.iter().any(|place| name.starts_with(place));
            assert!(is_ours, "{name} is nowhere");
        }
    }
}
