//! The standard dispatches: the same event to the same hooks, where nothing differs between runs
//! but the time itself and a few random numbers.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::events;
use super::project::{BenchHook, BenchProject, index_folder, open};
use crate::dist::package::SMALL;

/// Not `TMPDIR`: a longer path takes more instructions.
const FOLDER: &str = "/tmp";
/// The search path for programs, the same for all.
const SEARCH: &str = "/usr/bin:/bin";
/// No index is written for files that changed within the last 2.1 s, on the coarsest of disks; a
/// busy machine takes longer.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How often to check whether an index has been written.
const TRY_EVERY: Duration = Duration::from_millis(20);

/// The dispatch on which none of 100 hooks matches: what an agent waits for most often.
pub const USUAL: &str = "100 hooks, none matches";
/// The dispatch on which a hook runs.
pub const MATCHING: &str = "one matching sh hook";

/// One event to one set of hooks.
pub struct BenchDispatch {
    pub name: &'static str,
    host: &'static str,
    home: PathBuf,
    event: PathBuf,
}

/// All of them, with a copy of the program: its path has the same length everywhere, too.
pub struct Dispatches {
    pub list: Vec<BenchDispatch>,
    program: PathBuf,
    place: BenchProject,
    folder: tempfile::TempDir,
}

impl Dispatches {
    /// Creates the folders, and runs each dispatch until its index is ready.
    pub fn make(anyhook: &Path) -> Result<Self> {
        Self::make_within(READY_WITHIN, anyhook)
    }

    fn make_within(limit: Duration, anyhook: &Path) -> Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("anyhook-").rand_bytes(6).tempdir_in(FOLDER)?;
        let program = folder.path().join(SMALL);
        fs::copy(anyhook, &program)
            .with_context(|| format!("{} cannot be copied", anyhook.display()))?;
        let mut place = BenchProject::make(folder.path())?;
        place.search = SEARCH.into();
        let list = list(&place)?;
        let dispatches = Self { list, program, place, folder };
        // It is created now, not by the first count: that would change a folder that may be
        // watched.
        fs::write(dispatches.report(), "")?;
        for dispatch in &dispatches.list {
            dispatches.warm_up(dispatch, limit)?;
        }
        Ok(dispatches)
    }

    /// Runs a dispatch until it finds an index and does not change it.
    ///
    /// An index is only written when everything it watches changed a while ago, so how many runs
    /// this takes depends on the machine.
    fn warm_up(&self, dispatch: &BenchDispatch, limit: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            let before = indexes(&dispatch.home);
            self.run(dispatch, None, [])?;
            let after = indexes(&dispatch.home);
            if !after.is_empty() && before == after {
                return Ok(());
            }
            if start.elapsed() > limit {
                bail!(
                    "the dispatch `{}` still has no index to rely on after {} s: {} has {} files\n\
                     hint: see why with `anyhook doctor`; an index is not written for hooks that \
                     changed a moment ago, so a clock that runs backwards prevents it",
                    dispatch.name,
                    limit.as_secs(),
                    index_folder(&dispatch.home).display(),
                    after.len()
                );
            }
            sleep(TRY_EVERY);
        }
    }

    /// Returns the dispatch of that name.
    pub fn find(&self, name: &str) -> Result<&BenchDispatch> {
        let found = self.list.iter().find(|dispatch| dispatch.name == name);
        found.with_context(|| format!("there is no dispatch `{name}`"))
    }

    /// Runs a dispatch under another program, which observes it, or alone.
    pub fn run<'a>(
        &self,
        dispatch: &BenchDispatch,
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
        dispatch: &BenchDispatch,
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

    /// Returns the path of the observing program's report.
    pub fn report(&self) -> PathBuf {
        self.folder.path().join("report")
    }
}

/// Returns the index files in a home, each with its inode: one that is rewritten is another file.
fn indexes(home: &Path) -> BTreeSet<(OsString, u64)> {
    let Ok(entries) = index_folder(home).read_dir() else { return BTreeSet::new() };
    entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?.ino())))
        .collect()
}

/// Makes the five dispatches.
fn list(place: &BenchProject) -> Result<Vec<BenchDispatch>> {
    let project = &place.project;
    let small = place.file("event.json", &events::command(project, events::SMALL)?)?;
    let large = place.file("large.json", &events::file(project, events::LARGE)?)?;
    let claude = place.file("claude.json", &events::claude_code(project, events::SMALL)?)?;
    let none = place.home("none", 0)?;
    let hundred = place.home("hundred", 100)?;
    let one = place.home("one", 0)?;
    BenchHook { name: "bench-match", pattern: "echo", exit_code: 0, lines: "" }.write(&one)?;
    let dispatch = |name, host, home: &Path, event: &Path| BenchDispatch {
        name,
        host,
        home: home.to_owned(),
        event: event.to_owned(),
    };
    Ok(vec![
        dispatch("no hooks", "agent-hooks", &none, &small),
        dispatch(USUAL, "agent-hooks", &hundred, &small),
        dispatch("100 hooks, 1 MB for another tool", "agent-hooks", &hundred, &large),
        dispatch(MATCHING, "agent-hooks", &one, &small),
        dispatch("100 hooks, from Claude Code", "claude-code", &hundred, &claude),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A script that replaces the program: it records how it is called, and then does `rest`.
    fn stand_in(folder: &Path, rest: &str) -> PathBuf {
        let program = folder.join("called");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = hook ] && echo \"$2\" >> \"$HOME/called\"\n\
             index=\"$XDG_STATE_HOME/anyhook/index\"; mkdir -p \"$index\"\n{rest}\n"
        );
        fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, mode).unwrap();
        program
    }

    #[test]
    fn there_are_five_and_each_is_run_until_its_index_stays() {
        let folder = tempfile::tempdir().unwrap();
        // The fourth run of a home writes its index, the fifth replaces it, the sixth keeps it.
        let program = stand_in(
            folder.path(),
            "case $(wc -l < \"$HOME/called\") in\n4) echo > \"$index/a\" ;;\n\
             5) echo > \"$index/.new\"; mv \"$index/.new\" \"$index/a\" ;;\nesac",
        );

        let dispatches = Dispatches::make(&program).unwrap();
        assert_eq!(dispatches.list.len(), 5);
        let called = |dispatch: &BenchDispatch| {
            fs::read_to_string(dispatch.home.join("called")).unwrap().lines().count()
        };
        // Three dispatches share a home: the other two find its index at once.
        let calls: Vec<usize> = dispatches.list.iter().map(called).collect();
        assert_eq!(calls, [6, 8, 8, 6, 8]);
        let usual =
            fs::read_to_string(dispatches.find(USUAL).unwrap().home.join("called")).unwrap();
        assert!(usual.ends_with("agent-hooks\nagent-hooks\nclaude-code\n"), "{usual}");
        assert!(dispatches.report().exists());
        assert!(dispatches.find("another").is_err());
    }

    #[test]
    fn without_an_index_nothing_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let program = stand_in(folder.path(), "true");
        let error = Dispatches::make_within(Duration::ZERO, &program).err().unwrap().to_string();
        assert!(error.starts_with("the dispatch `no hooks` still has no index"), "{error}");
        assert!(error.contains("has 0 files\nhint: "), "{error}");
    }
}
