//! `cargo xtask test`: runs every suite to its end and sums up.
//!
//! A failing suite does not stop the others. What each suite does is in `suites`.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::suites::{self, Outcome};
use crate::{Ending, Workspace, bench, dist, fuzz};

/// One named part of the tests.
pub struct Suite {
    /// The name on the command line and in the table.
    pub name: &'static str,
    /// What it makes sure of.
    about: &'static str,
    body: fn(&Workspace) -> Result<Outcome>,
}

/// Every suite, in the order of running: the quick and the most telling ones first.
pub const SUITES: [Suite; 14] = [
    Suite { name: "format", about: "the code is formatted", body: suites::format },
    Suite { name: "lint", about: "clippy has no complaint", body: suites::lint },
    Suite { name: "build", about: "everything builds", body: suites::build },
    Suite { name: "tests", about: "unit, property and black-box tests", body: suites::tests },
    Suite {
        name: "agents",
        about: "the real agents call the same hooks, offline",
        body: suites::agents,
    },
    Suite { name: "clients", about: "the clients in Python and TypeScript", body: suites::clients },
    Suite {
        name: "doctests",
        about: "the examples in the code's documentation",
        body: suites::doctests,
    },
    Suite {
        name: "docs",
        about: "the code's documentation builds without warnings",
        body: suites::docs,
    },
    Suite {
        name: "generated",
        about: "schemas and reference pages are up to date",
        body: suites::generated,
    },
    Suite {
        name: "examples",
        about: "every hook of examples and packs passes its check and its cases",
        body: suites::examples,
    },
    Suite {
        name: "deny",
        about: "licences, sources and known faults of dependencies",
        body: suites::deny,
    },
    Suite {
        name: "dist",
        about: "every package is made, installed, run and taken away",
        body: dist::trial::suite,
    },
    Suite { name: "fuzz", about: "a short run of every fuzz target", body: fuzz::suite },
    Suite {
        name: "instructions",
        about: "the hook path takes no more instructions and system calls than is committed",
        body: bench::instructions::suite,
    },
];

/// What a skipped suite means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Skips {
    /// It is listed with its reason.
    Allowed,
    /// It counts as a failure.
    Fail,
}

/// A suite that has run.
struct Finished {
    name: &'static str,
    result: Result<Outcome>,
    time: Duration,
}

/// Runs the suites named in the arguments, or all.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<Ending> {
    let mut skips = match std::env::var("ANYHOOK_STRICT") {
        Ok(value) if value == "1" => Skips::Fail,
        _ => Skips::Allowed,
    };
    let mut names = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--strict" => skips = Skips::Fail,
            name if SUITES.iter().any(|suite| suite.name == name) => names.push(name),
            other => bail!("there is no suite `{other}`\n{}", suite_list().trim_end()),
        }
    }
    let chosen: Vec<_> =
        SUITES.iter().filter(|suite| names.is_empty() || names.contains(&suite.name)).collect();
    Ok(run_suites(workspace, &chosen, skips))
}

/// Runs the suites one after the other and prints the table.
pub fn run_suites(workspace: &Workspace, suites: &[&Suite], skips: Skips) -> Ending {
    let mut finished = Vec::new();
    for suite in suites {
        println!("\n=== {}: {} ===", suite.name, suite.about);
        let start = Instant::now();
        let result = (suite.body)(workspace);
        if let Err(error) = &result {
            println!("failed: {error:#}");
        }
        finished.push(Finished { name: suite.name, result, time: start.elapsed() });
    }
    let (summary, ending) = summary(&finished, skips);
    print!("\n{summary}");
    ending
}

/// The suites with what they are for, as lines for the help text.
pub fn suite_list() -> String {
    let mut text = "\nsuites:\n".to_owned();
    for suite in &SUITES {
        let _ = writeln!(text, "  {:<12} {}", suite.name, suite.about);
    }
    text
}

/// The table, the reasons, and the count in the last line.
fn summary(finished: &[Finished], skips: Skips) -> (String, Ending) {
    let mut table = format!("{:<12} | {:<7} | {:>7}\n", "suite", "result", "seconds");
    let mut reasons = String::new();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for suite in finished {
        let (word, count, reason) = match &suite.result {
            Ok(Outcome::Passed) => ("passed", &mut passed, None),
            Ok(Outcome::PassedExcept(what)) => ("passed", &mut passed, Some(what.clone())),
            Ok(Outcome::Skipped(why)) => match skips {
                Skips::Allowed => ("skipped", &mut skipped, Some(why.clone())),
                Skips::Fail => {
                    ("failed", &mut failed, Some(format!("skipped, but nothing may be: {why}")))
                }
            },
            Err(error) => ("failed", &mut failed, Some(format!("{error:#}"))),
        };
        *count += 1;
        let seconds = suite.time.as_secs_f64();
        let _ = writeln!(table, "{:<12} | {word:<7} | {seconds:>7.1}", suite.name);
        if let Some(reason) = reason {
            let _ = writeln!(reasons, "{}: {reason}", suite.name);
        }
    }
    if !reasons.is_empty() {
        table = format!("{table}\n{reasons}");
    }
    let _ = write!(table, "\n{passed} passed, {failed} failed");
    if skipped > 0 {
        let _ = write!(table, ", {skipped} skipped");
    }
    table.push('\n');
    (table, if failed == 0 { Ending::Good } else { Ending::Bad })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(name: &'static str, result: Result<Outcome>) -> Finished {
        Finished { name, result, time: Duration::from_millis(1500) }
    }

    fn three() -> Vec<Finished> {
        vec![
            finished("format", Ok(Outcome::Passed)),
            finished("tests", Err(anyhow::anyhow!("two tests failed"))),
            finished("deny", Ok(Outcome::Skipped("cargo-deny is missing".to_owned()))),
        ]
    }

    #[test]
    fn the_summary_is_a_table_the_reasons_and_a_count() {
        let (text, ending) = summary(&three(), Skips::Allowed);
        assert_eq!(
            text,
            "suite        | result  | seconds\n\
             format       | passed  |     1.5\n\
             tests        | failed  |     1.5\n\
             deny         | skipped |     1.5\n\
             \n\
             tests: two tests failed\n\
             deny: cargo-deny is missing\n\
             \n\
             1 passed, 1 failed, 1 skipped\n"
        );
        assert!(matches!(ending, Ending::Bad));
    }

    #[test]
    fn a_skip_is_a_failure_when_skips_fail() {
        let (text, ending) = summary(&three()[2..], Skips::Fail);
        assert!(text.ends_with("\n0 passed, 1 failed\n"), "{text}");
        assert!(matches!(ending, Ending::Bad));
    }

    #[test]
    fn a_skip_is_no_failure_otherwise() {
        let (_, ending) = summary(&three()[2..], Skips::Allowed);
        assert!(matches!(ending, Ending::Good));
    }
}
