//! The project's own tasks, run with `cargo xtask TASK`.
//!
//! This file only reads the first argument. Every task has a file of its own; `process` runs
//! programs and `tools` finds or installs them.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a task does")]

mod bench;
mod check;
mod dist;
mod features;
mod fuzz;
mod generate;
mod install;
mod new_host;
mod package;
mod process;
mod run_limited;
mod suites;
mod test;
mod tools;
#[cfg(test)]
mod unsafe_code;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

const HELP: &str = "\
usage: cargo xtask TASK [ARGUMENTS]

tasks:
  test [--strict] [--nightly] [SUITE…]  every suite, or only those named
  check [CRATE…]                        the loop while you work: format, lint and tests of the
                                        crates named (`engine` or `anyhook-engine`), or of all
  generate [--check]                    write the schemas and the reference pages, or compare them
  new-host NAME                         write the folder of a new agent, with its tests, and its line
  install [ARGUMENTS]                   `cargo install` of both programs; arguments are passed on,
                                        such as --root DIR
  bench [--runs N] [--profile P | --binary PATH] [--quick] [--json] [--check] [--write]
                                        what one hook call costs, against /bin/true and others,
                                        and the goals; with --check a missed one is a failure,
                                        with --write the figures go into the documents
  bench --instructions [--write]        how many instructions the standard dispatches take
  bench --syscalls | --where            the system calls when no hook matches; where the time goes
  bench --agents | --daemon             how soon it is known what an agent waits for; what the
                                        daemon bears
  dist [--all] [--out DIR]              what is shipped: the static programs, an archive, packages
                                        for npm, Python and Debian, checksums; in target/packages;
                                        with --all also an archive with dynamic programs
  layout                                write anew which functions of the small program lie together
  help                                  this text

With --strict (or ANYHOOK_STRICT=1) a suite, or a test, that had to be skipped is a failure, and
so is a suite that takes longer than its limit.
With --nightly the suites run, too, that take long and seldom fail alone.
With --all the suite `agents` runs every agent, and not only those that most people use.
ANYHOOK_PARTITION=slice:1/3 runs a third of the tests, as nextest's --partition does.
ANYHOOK_FUZZ_SECONDS sets how long each fuzz target runs (5, or less if there are many).
";

/// Whether the task reached its goal; an error says why it could not even try.
enum TaskResult {
    Good,
    Bad,
}

fn main() -> ExitCode {
    let mut given = std::env::args_os().skip(1);
    if given.next().is_some_and(|task| task == run_limited::TASK) {
        return run_limited::run(&given.collect::<Vec<_>>()).unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        });
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(TaskResult::Good) => ExitCode::SUCCESS,
        Ok(TaskResult::Bad) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<TaskResult> {
    let Some((task, rest)) = arguments.split_first() else {
        print!("{HELP}{}", test::suite_list());
        return Ok(TaskResult::Good);
    };
    match task.as_str() {
        "test" => test::run(&Workspace::find()?, rest),
        test::TASK => test::run_one(&Workspace::find()?, rest),
        "check" => check::run(&Workspace::find()?, rest),
        "generate" => generate::run(&Workspace::find()?, rest),
        "new-host" => new_host::run(&Workspace::find()?, rest),
        "install" => install::run(&Workspace::find()?, rest),
        "dist" => dist::run(&Workspace::find()?, rest),
        "layout" => dist::layout::run(&Workspace::find()?, rest),
        "bench" => bench::run(&Workspace::find()?, rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}{}", test::suite_list());
            Ok(TaskResult::Good)
        }
        other => bail!("there is no task `{other}`; `cargo xtask help` lists them"),
    }
}
