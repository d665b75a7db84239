//! The `fuzz` suite: a short run of every target in `fuzz/`, on the stable toolchain.
//!
//! cargo-fuzz requires a nightly compiler because of its sanitizers. This code has no `unsafe`, so
//! coverage alone is enough, and LLVM's coverage pass can be enabled on stable. For long runs
//! `cargo +nightly fuzz run TARGET` works in the same folder.

use std::ffi::OsString;
use std::fs::{self, File};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::suites::SuiteOutcome;
use crate::{Workspace, process, tools};

/// The flags of cargo-fuzz, without a sanitizer.
const COVERAGE: [&str; 6] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// The profile of short runs, in which building takes longer than fuzzing.
const PROFILE: &str = "short";

/// How much of a failed run's output is shown.
const SHOWN_LINES: usize = 30;

/// How long each target runs.
const EACH: Duration = Duration::from_secs(5);
/// How long all of them together may run: with more targets, each runs shorter.
const ALL: Duration = Duration::from_secs(60);

/// Builds the targets and runs each for a few seconds, one on every processor.
pub fn suite(workspace: &Workspace) -> Result<SuiteOutcome> {
    if let Err(error) = tools::ensure_programs(&tools::FOR_FUZZING) {
        return Ok(SuiteOutcome::Skipped(format!("{error:#}")));
    }
    let targets = targets(workspace)?;
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let seconds = match std::env::var("ANYHOOK_FUZZ_SECONDS") {
        Ok(text) => text.parse().context("ANYHOOK_FUZZ_SECONDS is not a whole number")?,
        Err(_) => seconds_each(targets.len(), processors),
    };
    let programs = build(workspace)?;
    let pending = Mutex::new(targets.iter());
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                // Not in the loop's head, which would hold the lock through its body.
                let next = || pending.lock().ok()?.next();
                while let Some(target) = next() {
                    if let Err(error) = run_target(workspace, &programs, target, seconds) {
                        println!("{target}: {error:#}");
                        failed.lock().into_iter().for_each(|mut failed| {
                            failed.push(format!("{target}: {error:#}"));
                        });
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(SuiteOutcome::Passed)
}

/// Returns how many seconds each target may run, at least one.
fn seconds_each(targets: usize, processors: usize) -> u64 {
    let turns = targets.div_ceil(processors).max(1) as u64;
    (ALL.as_secs() / turns).clamp(1, EACH.as_secs())
}

/// Builds every target and returns the folder with the programs.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let host = host_triple(&process::output(workspace.command("rustc").arg("-vV"))?)?;
    // In the common build folder, different flags would rebuild everything at each switch.
    let folder = workspace.target.join("fuzz");
    let mut command = workspace.cargo();
    command.args(["build", "--profile", PROFILE, "--locked", "--manifest-path"]);
    command.arg("fuzz/Cargo.toml");
    // With an explicit target, the flags do not apply to build scripts, which cannot link with
    // them.
    command.args(["--target", &host]);
    command.env("CARGO_TARGET_DIR", &folder).env("RUSTFLAGS", COVERAGE.join(" "));
    process::run(command.env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    Ok(folder.join(host).join(PROFILE))
}

/// Runs one target, starting from its seeds, and reports the input that broke it.
fn run_target(workspace: &Workspace, programs: &Path, target: &str, seconds: u64) -> Result<()> {
    let fuzz = workspace.root.join("fuzz");
    let corpus = tempfile::tempdir()?;
    copy_files(&fuzz.join("seeds").join(target), corpus.path())?;
    let artifacts = fuzz.join("artifacts").join(target);
    fs::create_dir_all(&artifacts)?;
    let log = programs.join(format!("{target}.log"));

    // The final slash makes it a folder for libFuzzer, not the start of a name.
    let mut prefix = OsString::from("-artifact_prefix=");
    prefix.push(artifacts.join(""));
    let mut command = workspace.command(programs.join(target));
    command.arg(format!("-max_total_time={seconds}"));
    command.args(["-max_len=65536", "-rss_limit_mb=2048", "-timeout=10"]);
    command.arg(prefix).arg(corpus.path());
    // libFuzzer writes hundreds of lines, of which only one matters in a good run.
    command.stdout(File::create(&log)?).stderr(File::options().append(true).open(&log)?);
    let status = command.env("RUST_BACKTRACE", "0").status().context("cannot be started")?;

    let output = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    if status.success() {
        println!("{target}: {}", runs(&output).unwrap_or("no runs"));
        return Ok(());
    }
    let lines: Vec<_> = output.lines().collect();
    println!("{}", lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n"));
    match crashing_input(&output) {
        Some(input) => bail!("failed on the input {input}"),
        None => bail!("ended with {status}; see {}", log.display()),
    }
}

/// The targets by name, in order.
fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let mut targets = Vec::new();
    for entry in workspace.root.join("fuzz/fuzz_targets").read_dir()? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        targets.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    targets.sort();
    Ok(targets)
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for entry in from.read_dir().with_context(|| format!("{} has no seeds", from.display()))? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

fn host_triple(version: &str) -> Result<String> {
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not name its host")?.to_owned())
}

/// The line that says how many inputs were tried.
fn runs(output: &str) -> Option<&str> {
    output.lines().find(|line| line.starts_with("Done ")).map(|line| &line["Done ".len()..])
}

/// The file libFuzzer wrote the failing input to.
fn crashing_input(output: &str) -> Option<&str> {
    const BEFORE: &str = "Test unit written to ";
    output.lines().find_map(|line| Some(&line[line.find(BEFORE)? + BEFORE.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_read_from_the_version() {
        let version = "rustc 1.95.0\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n";
        assert_eq!(host_triple(version).unwrap(), "x86_64-unknown-linux-gnu");
    }

    #[test]
    fn more_targets_run_shorter() {
        assert_eq!(seconds_each(16, 2), 5);
        assert_eq!(seconds_each(16, 1), 3);
        assert_eq!(seconds_each(60, 2), 2);
        assert_eq!((seconds_each(500, 1), seconds_each(0, 4)), (1, 5));
    }

    #[test]
    fn the_count_of_a_good_run_is_found() {
        assert_eq!(
            runs("stat::x: 1\nDone 1870584 runs in 9 second(s)\n"),
            Some("1870584 runs in 9 second(s)")
        );
    }

    #[test]
    fn the_crashing_input_is_found() {
        let output =
            "SUMMARY: x\nartifact_prefix='/a/'; Test unit written to /a/crash-12\nBase64: eA==\n";
        assert_eq!(crashing_input(output), Some("/a/crash-12"));
        assert_eq!(crashing_input("Done"), None);
    }
}
