//! Commands of options: run with a time limit, with all of their output.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhook_engine::wait::poll_until;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::options::GuardError;

/// How often a running command is looked at.
const EVERY: Duration = Duration::from_millis(10);
/// At most this much of an output is read.
const OUTPUT_LIMIT: u64 = 8 * 1024 * 1024;

/// How a command ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its status; `None` if it was ended at the time limit.
    pub status: Option<ExitStatus>,
    /// What it printed to standard output.
    pub stdout: Vec<u8>,
    /// What it printed to standard error; empty if both go to the same place.
    pub stderr: Vec<u8>,
}

impl Ended {
    /// Returns whether it succeeded.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Returns all that it printed, as text.
    pub fn text(&self) -> String {
        let both = [self.stdout.as_slice(), self.stderr.as_slice()].concat();
        String::from_utf8_lossy(&both).into_owned()
    }
}

/// Runs a line of shell in a folder; both outputs go to the same place, in order.
pub fn run_line(
    line: &str,
    folder: &Path,
    limit: Duration,
    input: &[u8],
) -> Result<Ended, GuardError> {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder);
    run(command, "sh", input, limit, true)
}

/// Runs words as a program in a folder; `None` if there is no such program.
pub fn run_words(
    words: &[String],
    folder: &Path,
    limit: Duration,
    input: &[u8],
) -> Result<Option<Ended>, GuardError> {
    let Some((program, arguments)) = words.split_first() else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    match run(command, program, input, limit, false) {
        Err(GuardError::Program { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        ran => ran.map(Some),
    }
}

fn run(
    mut command: Command,
    program: &str,
    input: &[u8],
    limit: Duration,
    is_together: bool,
) -> Result<Ended, GuardError> {
    let failed = |error| GuardError::Program { program: program.to_owned(), error };
    // Files, not pipes: a program that it leaves behind keeps no one waiting.
    let mut stdin = tempfile::tempfile().map_err(failed)?;
    stdin.write_all(input).and_then(|()| stdin.rewind()).map_err(failed)?;
    let stdout = tempfile::tempfile().map_err(failed)?;
    let stderr =
        if is_together { stdout.try_clone() } else { tempfile::tempfile() }.map_err(failed)?;
    let to = |file: &File| file.try_clone().map(Stdio::from).map_err(failed);
    command.stdin(stdin).stdout(to(&stdout)?).stderr(to(&stderr)?).process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    let status = wait(&mut child, limit).map_err(failed)?;
    let stderr = if is_together { Vec::new() } else { all(stderr).map_err(failed)? };
    Ok(Ended { status, stdout: all(stdout).map_err(failed)?, stderr })
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let ended = poll_until(Instant::now() + limit, EVERY, || child.try_wait().transpose());
    if let Some(status) = ended {
        return status.map(Some);
    }
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may just have ended.
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.wait().map(|_| None)
}

fn all(mut file: File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(OUTPUT_LIMIT)))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the last lines of a text, at most this many lines and bytes.
pub fn last_lines(text: &str, lines: usize, bytes: usize) -> String {
    let all: Vec<&str> = text.trim_end().lines().collect();
    let (mut size, mut kept) = (0, 0);
    for line in all.iter().rev().take(lines) {
        size += line.len() + 1;
        if size > bytes && kept > 0 {
            break;
        }
        kept += 1;
    }
    let left_out = all.len() - kept;
    let shown = all[left_out..].join("\n");
    let shown = anyhook_model::truncate::first_bytes(&shown, bytes);
    if left_out == 0 { shown.to_owned() } else { format!("… {left_out} lines before\n{shown}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn output_is_kept_in_order() {
        let folder = std::env::temp_dir();
        let ran =
            run_line("cat; echo two >&2; echo three; exit 3", &folder, LONG, b"one\n").unwrap();
        assert_eq!(ran.text(), "one\ntwo\nthree\n");
        assert!(!ran.is_success() && ran.status.unwrap().code() == Some(3));
    }

    #[test]
    fn what_takes_too_long_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let line = "echo started; sleep 600 & sleep 600";
        let begun = Instant::now();
        let ran = run_line(line, folder.path(), Duration::from_millis(100), b"").unwrap();
        assert!(ran.status.is_none() && begun.elapsed() < LONG);
        assert_eq!(ran.text(), "started\n");
    }

    #[test]
    fn a_program_that_is_not_there() {
        let words = ["no-such-program-anywhere".to_owned()];
        assert!(run_words(&words, Path::new("/"), LONG, b"").unwrap().is_none());
        let ran = run_words(&["true".to_owned()], Path::new("/"), LONG, b"").unwrap().unwrap();
        assert!(ran.is_success());
    }

    #[test]
    fn the_end_is_what_matters() {
        assert_eq!(last_lines("a\nb\nc\n", 5, 100), "a\nb\nc");
        assert_eq!(last_lines("a\nb\nc\n", 2, 100), "… 1 lines before\nb\nc");
        assert_eq!(last_lines("aaaa\nbbbb\ncccc", 3, 10), "… 1 lines before\nbbbb\ncccc");
        assert_eq!(last_lines("aaaaaaaaaaaaaaaa", 3, 4), "aaaa");
        assert_eq!(last_lines("", 3, 4), "");
    }
}
