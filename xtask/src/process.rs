//! Runs programs, always showing what is run.

use std::fs;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::run_limited;

/// A day: longer than anything here takes.
pub const NO_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// How many characters of a command line are shown.
const LONGEST: usize = 200;

/// Prints the command, runs it with our own output, and fails unless it exits with 0.
pub fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{}` ended with {status}", program(command));
    }
    Ok(())
}

/// Runs the command as [`run`] does, and also fails if a process that it has started outlives it.
/// Such a process is killed.
///
/// The command must neither have its streams set nor its environment cleared.
pub fn run_tests(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let report = tempfile::NamedTempFile::new()?;
    // The suite has the time limit.
    let status = run_limited::kept(command, report.path(), NO_LIMIT).status();
    let status = status.with_context(|| cannot_start(command))?;
    let left = fs::read_to_string(report.path())?;
    ended(&program(command), status.success().then_some(()).ok_or(status), &left)
}

/// Returns what was wrong with a command's exit, if anything.
fn ended(program: &str, status: Result<(), ExitStatus>, left: &str) -> Result<()> {
    let mut wrong = Vec::new();
    if let Err(status) = status {
        wrong.push(format!("`{program}` ended with {status}"));
    }
    if !left.is_empty() {
        wrong.push(format!(
            "`{program}` has started processes that outlived it; they were ended now:\n{}\n\
             hint: a test must end what it starts, also when it fails: `TestEnv` ends what works \
             in its folders",
            left.trim_end()
        ));
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

/// Runs the command as [`run`] does, and kills it when it takes longer than `limit`.
pub fn run_within(limit: Duration, command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let mut child = command.spawn().with_context(|| cannot_start(command))?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                bail!("`{}` ended with {status}", program(command));
            }
            return Ok(());
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("`{}` took longer than {} s", program(command), limit.as_secs());
        }
        sleep(Duration::from_millis(50));
    }
}

/// Runs the command quietly and returns its standard output; its errors become ours.
pub fn output(command: &mut Command) -> Result<String> {
    // No terminal on any stream: programs adapt their output to a terminal.
    let output = command.stdin(Stdio::null()).output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        bail!(
            "`{}` ended with {}: {}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed bytes that are no text", shown(command)))
}

/// Returns the command line as a person would type it, shortened if it is very long.
fn shown(command: &Command) -> String {
    let mut line = program(command);
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{} …", &line[..cut]),
        None => line,
    }
}

/// The program's name without its folder.
fn program(command: &Command) -> String {
    let path = std::path::Path::new(command.get_program());
    path.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned()
}

fn cannot_start(command: &Command) -> String {
    format!("`{}` cannot be started", command.get_program().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_the_folder_of_its_program() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["build", "--locked"]);
        assert_eq!(shown(&command), "cargo build --locked");
    }

    #[test]
    fn a_process_left_behind_is_a_failure_beside_any_other() {
        use std::os::unix::process::ExitStatusExt as _;
        assert!(ended("cargo", Ok(()), "").is_ok());
        let left = "pid 7: sh -c while [ ! -e go ]; do :; done\n";
        let error = ended("cargo", Ok(()), left).unwrap_err().to_string();
        assert_eq!(
            error,
            "`cargo` has started processes that outlived it; they were ended now:\n\
             pid 7: sh -c while [ ! -e go ]; do :; done\n\
             hint: a test must end what it starts, also when it fails: `TestEnv` ends what works \
             in its folders"
        );
        let failed = Err(ExitStatus::from_raw(100 << 8));
        let both = ended("cargo", failed, left).unwrap_err().to_string();
        assert_eq!(both, format!("`cargo` ended with exit status: 100\n{error}"));
    }

    #[test]
    fn a_long_command_is_cut() {
        let mut command = Command::new("echo");
        command.arg("ü".repeat(500));
        assert_eq!(shown(&command).chars().count(), 202);
    }
}
