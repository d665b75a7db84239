//! The standard dispatches: the same event to the same hooks, where nothing differs from one time
//! to the next but the time itself and a few random numbers.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::events;
use super::place::{Hook, Place, open};
use crate::dist::package::SMALL;

/// Not where `TMPDIR` says: a longer path takes more instructions.
const FOLDER: &str = "/tmp";
/// What programs are searched in by everybody, everywhere.
const SEARCH: &str = "/usr/bin:/bin";
/// So often each is run before anything is counted: what is made at first is there then.
const WARM_UP: usize = 3;

/// The dispatch on which none of 100 hooks matches: what an agent waits for most often.
pub const USUAL: &str = "100 hooks, none matches";

/// One event to one set of hooks.
pub struct Dispatch {
    pub name: &'static str,
    host: &'static str,
    home: PathBuf,
    event: PathBuf,
}

/// All of them, with a copy of the program: its path has the same length everywhere, too.
pub struct Dispatches {
    pub list: Vec<Dispatch>,
    program: PathBuf,
    place: Place,
    folder: tempfile::TempDir,
}

impl Dispatches {
    /// Makes the folders, and runs each dispatch until it finds everything in place.
    pub fn make(anyhook: &Path) -> Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("anyhook-").rand_bytes(6).tempdir_in(FOLDER)?;
        let program = folder.path().join(SMALL);
        fs::copy(anyhook, &program)
            .with_context(|| format!("{} cannot be copied", anyhook.display()))?;
        let mut place = Place::make(folder.path())?;
        place.search = SEARCH.into();
        let list = list(&place)?;
        let dispatches = Self { list, program, place, folder };
        for dispatch in &dispatches.list {
            for _ in 0..WARM_UP {
                dispatches.run(dispatch, None, [])?;
            }
        }
        Ok(dispatches)
    }

    /// The dispatch of that name.
    pub fn find(&self, name: &str) -> Result<&Dispatch> {
        let found = self.list.iter().find(|dispatch| dispatch.name == name);
        found.with_context(|| format!("there is no dispatch `{name}`"))
    }

    /// Runs a dispatch below another program, which looks at it, or alone.
    pub fn run<'a>(
        &self,
        dispatch: &Dispatch,
        below: Option<&Path>,
        arguments: impl IntoIterator<Item = &'a OsStr>,
    ) -> Result<()> {
        let mut command = self.command(dispatch, below, arguments)?;
        let status = command.status()?;
        if !status.success() {
            bail!("the dispatch `{}` ended with {status}", dispatch.name);
        }
        Ok(())
    }

    fn command<'a>(
        &self,
        dispatch: &Dispatch,
        below: Option<&Path>,
        arguments: impl IntoIterator<Item = &'a OsStr>,
    ) -> Result<Command> {
        let mut command = self.place.command(below.unwrap_or(&self.program), &dispatch.home);
        command.args(arguments);
        if below.is_some() {
            command.arg(&self.program);
        }
        command.args(["hook", dispatch.host]).stdin(open(&dispatch.event)?);
        Ok(command)
    }

    /// A path for what the program that looks writes.
    pub fn report(&self) -> PathBuf {
        self.folder.path().join("report")
    }
}

/// The five.
fn list(place: &Place) -> Result<Vec<Dispatch>> {
    let project = &place.project;
    let small = place.file("event.json", &events::command(project, events::SMALL)?)?;
    let large = place.file("large.json", &events::file(project, events::LARGE)?)?;
    let claude = place.file("claude.json", &events::claude_code(project, events::SMALL)?)?;
    let none = place.home("none", 0)?;
    let hundred = place.home("hundred", 100)?;
    let one = place.home("one", 0)?;
    Hook { name: "bench-match", pattern: "echo", exit_code: 0, lines: "" }.write(&one)?;
    let dispatch = |name, host, home: &Path, event: &Path| Dispatch {
        name,
        host,
        home: home.to_owned(),
        event: event.to_owned(),
    };
    Ok(vec![
        dispatch("no hooks", "agent-hooks", &none, &small),
        dispatch(USUAL, "agent-hooks", &hundred, &small),
        dispatch("100 hooks, 1 MB for another tool", "agent-hooks", &hundred, &large),
        dispatch("one matching sh hook", "agent-hooks", &one, &small),
        dispatch("100 hooks, from Claude Code", "claude-code", &hundred, &claude),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_five_and_each_is_run_as_a_hook() {
        let folder = tempfile::tempdir().unwrap();
        // It stands for the program: it only says how it is called.
        let program = folder.path().join("called");
        let script = "#!/bin/sh\n[ \"$1\" = hook ] && echo \"$2\" >> \"$HOME/called\"\n";
        fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, mode).unwrap();

        let dispatches = Dispatches::make(&program).unwrap();
        assert_eq!(dispatches.list.len(), 5);
        let usual = dispatches.find(USUAL).unwrap();
        let called = fs::read_to_string(usual.home.join("called")).unwrap();
        // Three dispatches share this home.
        assert_eq!(called.matches("agent-hooks\n").count(), 2 * WARM_UP);
        assert_eq!(called.matches("claude-code\n").count(), WARM_UP);
        assert!(dispatches.find("another").is_err());
    }
}
