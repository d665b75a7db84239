//! Failure streaks: how often each hook has failed without a success in between.
//!
//! One file per hook under `failures/` in the state folder, named after the hook's folder, with a
//! line for each consecutive failure: its cause. A success removes the file, so a working hook
//! costs one system call per run, and one that never ran costs nothing.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhook_model::json::shorten;
use anyhook_model::{RunOutcome, RunRecord, StateDir};
use rustix::fs::OFlags;

use crate::atomic_file::{AtomicFile, create_private_dir};
use crate::hook::{HOOK_FILE, Hook};
use crate::places::silent_for;
use crate::redact::without_secrets;
use crate::regular_file::open_own;
use crate::trust::short_hash;

/// After this many consecutive failures a hook is considered to fail every time.
pub const WORTH_TELLING: u32 = 5;

/// At most this many bytes of a cause are kept.
const CAUSE_LIMIT: usize = 300;
/// A file of this size is shortened to its last [`KEPT`] lines: the count is then a lower bound.
const FILE_LIMIT: u64 = 16 * 1024;
/// How many lines a file that grew too large keeps.
const KEPT: usize = 20;
/// A hook that neither failed nor succeeded for this long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(90 * 24 * 3600);
/// At most this many are forgotten at once, since the agent is waiting.
const FORGET_AT_ONCE: usize = 20;

/// A hook's failures since it last succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureStreak {
    /// How many consecutive runs failed; a lower bound once it is large.
    pub runs: u32,
    /// Why the last of them failed.
    pub cause: String,
}

/// Returns how many times in a row a hook has failed; 0 if it was changed since the last failure.
pub fn failures_in_a_row(state: &Path, hook: &Hook) -> u32 {
    streak(state, hook).map_or(0, |streak| streak.runs)
}

/// Returns a hook's consecutive failures, unless it was changed since the last of them.
pub fn streak(state: &Path, hook: &Hook) -> Option<FailureStreak> {
    let file = open_own(&path(state, &hook.folder_text()), OFlags::RDONLY).ok()?;
    let last_failed = file.metadata().and_then(|metadata| metadata.modified()).ok()?;
    let script = hook.entry.as_ref().map(|entry| entry.script.clone());
    let was_changed = |file: PathBuf| {
        let modified = fs::metadata(file).and_then(|metadata| metadata.modified());
        modified.is_ok_and(|modified| modified > last_failed)
    };
    // The cause may be fixed: the next run will show.
    if was_changed(hook.folder.join(HOOK_FILE)) || script.is_some_and(was_changed) {
        return None;
    }
    let text = read(file)?;
    let runs = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    Some(FailureStreak { runs, cause: text.lines().next_back()?.to_owned() })
}

/// Returns the failures of a hook that has recently failed every time, often enough to report.
pub fn worth_telling(state: &Path, hook: &Hook) -> Option<FailureStreak> {
    streak(state, hook).filter(|streak| streak.runs >= WORTH_TELLING)
}

/// Remembers how a hook's run ended. One that was not run, or is still running, is ignored.
///
/// What cannot be remembered is lost for this purpose only: the journal has every run.
pub(crate) fn remember(state: &Path, run: &RunRecord) {
    let was_run = run.outcome.as_ref().is_some_and(|outcome| {
        !matches!(
            outcome,
            RunOutcome::Detached
                | RunOutcome::Returned
                | RunOutcome::Declared
                | RunOutcome::Cancelled
                | RunOutcome::Interrupted(_)
        )
    });
    if !was_run {
        return;
    }
    let path = path(state, &run.folder);
    match &run.failure {
        Some(cause) => drop(add(&path, cause)),
        None => drop(fs::remove_file(path)),
    }
}

/// Forgets some of the hooks without any run for a long time.
pub(crate) fn forget_old(state: &Path, now: SystemTime) {
    for file in silent_for(&StateDir::new(state).failures(), FORGET_AFTER, now).take(FORGET_AT_ONCE)
    {
        // Another process may have been faster; then there is nothing left to do.
        let _ = fs::remove_file(file);
    }
}

/// Returns the folder of the files; it does not exist while no hook has failed.
pub(crate) fn folder(state: &Path) -> PathBuf {
    StateDir::new(state).failures()
}

fn path(state: &Path, folder: &str) -> PathBuf {
    StateDir::new(state).failures().join(short_hash(Path::new(folder)))
}

fn add(path: &Path, cause: &str) -> io::Result<()> {
    let mut line = shorten(&without_secrets(shorten(cause, CAUSE_LIMIT)), CAUSE_LIMIT);
    line = line.replace(char::is_control, " ");
    line.push('\n');
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let mut file = match open_own(path, flags) {
        Ok(file) => file,
        Err(_) => {
            create_private_dir(path.parent().unwrap_or(path))?;
            open_own(path, flags)?
        }
    };
    if file.metadata()?.len() < FILE_LIMIT {
        return file.write_all(line.as_bytes());
    }
    let text = open_own(path, OFlags::RDONLY).ok().and_then(read).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let mut kept = lines[lines.len().saturating_sub(KEPT)..].join("\n");
    kept.push('\n');
    kept.push_str(&line);
    AtomicFile::new(path).replace(kept.as_bytes())
}

fn read(file: File) -> Option<String> {
    let mut bytes = Vec::new();
    // A file exceeds the limit by one line at most.
    file.take(2 * FILE_LIMIT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use rustix::fs::{FileType, Mode};

    use super::*;
    use crate::hook::Level;

    struct Scratch {
        _folder: tempfile::TempDir,
        state: PathBuf,
        hook: Hook,
    }

    fn scratch() -> Scratch {
        let folder = tempfile::tempdir().unwrap();
        let hook = folder.path().join("guard");
        fs::create_dir_all(hook.join("scripts")).unwrap();
        fs::write(hook.join("HOOK.md"), "---\nname: guard\ntrigger: before_tool\n---\n").unwrap();
        fs::write(hook.join("scripts/run.sh"), "exit 1\n").unwrap();
        let hook = Hook::load(&hook, Level::User);
        Scratch { state: folder.path().join("state"), hook, _folder: folder }
    }

    fn run(hook: &Hook, outcome: Option<RunOutcome>, failure: Option<&str>) -> RunRecord {
        let said = crate::output::RunOutput {
            failure: failure.map(str::to_owned),
            ..crate::output::RunOutput::default()
        };
        RunRecord { outcome, ..crate::dispatch::run_record(hook, said, None) }
    }

    fn fail(scratch: &Scratch, cause: &str) {
        remember(&scratch.state, &run(&scratch.hook, Some(RunOutcome::Exited(1)), Some(cause)));
    }

    #[test]
    fn failures_are_counted_until_a_success() {
        let scratch = scratch();
        let Scratch { state, hook, .. } = &scratch;
        assert_eq!(failures_in_a_row(state, hook), 0);
        for _ in 0..4 {
            fail(&scratch, "exit 1");
        }
        assert_eq!((failures_in_a_row(state, hook), worth_telling(state, hook)), (4, None));
        fail(&scratch, "exit 1: two\nlines");
        let told = FailureStreak { runs: 5, cause: "exit 1: two lines".to_owned() };
        assert_eq!(worth_telling(state, hook), Some(told));
        // A hook that was not run, or is still running, has not succeeded.
        remember(state, &run(hook, None, None));
        remember(state, &run(hook, Some(RunOutcome::Detached), None));
        assert_eq!(failures_in_a_row(state, hook), 5);
        remember(state, &run(hook, Some(RunOutcome::Exited(2)), None));
        assert_eq!(failures_in_a_row(state, hook), 0);
        assert_eq!(fs::read_dir(StateDir::new(state).failures()).unwrap().count(), 0);
    }

    #[test]
    fn a_changed_hook_gets_another_chance() {
        let scratch = scratch();
        fail(&scratch, "exit 1");
        let script = File::options().write(true).open(scratch.hook.folder.join("scripts/run.sh"));
        script.unwrap().set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
        assert_eq!(failures_in_a_row(&scratch.state, &scratch.hook), 0);
    }

    #[test]
    fn the_file_is_private_and_bounded_and_has_no_secrets() {
        let scratch = scratch();
        let long = format!("ghp_{} {}", "a1B2c3D4e5F6".repeat(3), "x".repeat(1000));
        for _ in 0..200 {
            fail(&scratch, &long);
        }
        let path = path(&scratch.state, &scratch.hook.folder_text());
        let metadata = fs::metadata(&path).unwrap();
        assert!(metadata.len() < FILE_LIMIT + 1024, "{}", metadata.len());
        assert_eq!(metadata.mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        assert!(failures_in_a_row(&scratch.state, &scratch.hook) >= 20);
        assert!(!fs::read_to_string(&path).unwrap().contains("ghp_a1B2"));
    }

    #[test]
    fn a_pipe_or_a_link_in_its_place_is_neither_waited_for_nor_followed() {
        let scratch = scratch();
        let path = path(&scratch.state, &scratch.hook.folder_text());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, mode, 0).unwrap();
        fail(&scratch, "exit 1");
        assert_eq!(failures_in_a_row(&scratch.state, &scratch.hook), 0);
        fs::remove_file(&path).unwrap();
        let elsewhere = scratch.state.join("elsewhere");
        fs::write(&elsewhere, "").unwrap();
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        fail(&scratch, "exit 1");
        assert_eq!(fs::read(&elsewhere).unwrap(), b"");
    }

    #[test]
    fn hooks_that_are_long_gone_are_forgotten() {
        let scratch = scratch();
        fail(&scratch, "exit 1");
        forget_old(&scratch.state, SystemTime::now());
        assert_eq!(failures_in_a_row(&scratch.state, &scratch.hook), 1);
        forget_old(&scratch.state, SystemTime::now() + FORGET_AFTER + Duration::from_secs(60));
        assert_eq!(failures_in_a_row(&scratch.state, &scratch.hook), 0);
    }
}
