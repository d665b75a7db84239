//! Where each thing is below the state folder: the one list of names, of which
//! `docs/reference/files.md` tells what they hold.

use std::path::{Path, PathBuf};

/// The state folder, `$XDG_STATE_HOME/anyhook`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateDir<'path>(&'path Path);

macro_rules! places {
    ($($(#[$doc:meta])+ $method:ident => $path:literal;)+) => {
        impl StateDir<'_> {
            /// Every place below the state folder; a folder ends with `/`.
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
    /// What is remembered of each session.
    sessions => "sessions/";
    /// What the user trusts: records and copies.
    trust => "trust/";
    /// What is installed, ready to be asked.
    index => "index/";
    /// Where hooks that cannot be read now were last known to decide.
    known => "known";
    /// The causes of each hook's failures in a row.
    failures => "failures/";
    /// There while a guard whose failure blocks is installed.
    guarded => "guarded/";
    /// The `PATH` that guards get.
    guard_path => "guard-path";
    /// What a person accepted in sessions that had begun before.
    accepted => "accepted";
    /// Alarms that no session was told of yet.
    alarms => "alarms.jsonl";
    /// What `install` changed in agents' settings.
    installed => "installed/";
    /// Hooks that `remove` took away.
    removed => "removed/";
    /// Where pipelines work that name no path.
    workspaces => "workspaces/";
    /// The projects with a workflow.
    workflows => "workflows/";
    /// The daemon's.
    daemon => "daemon/";
    /// What the daemon wants of the hook processes of the agents it started.
    agents => "daemon/agents/";
    /// Notices and what became of them.
    notices => "daemon/notices/";
    /// The pipelines' own folders.
    pipelines => "daemon/pipelines/";
    /// Sockets of agents' sessions.
    run => "daemon/run/";
}

impl<'path> StateDir<'path> {
    /// Names the state folder. Nothing is looked at or made.
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

    /// The table "State" of the page names each place, or something below it, and nothing else; the
    /// workflows' is told with the workflows.
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
