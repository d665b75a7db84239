//! `cargo xtask test`: runs every suite to its end and prints a summary.
//!
//! A failing suite does not stop the others, and one that takes too long is killed. The suites
//! themselves are in `suites`.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::suites::{self, SuiteOutcome};
use crate::{TaskResult, Workspace, bench, dist, features, fuzz, package, process, run_limited};

/// One named part of the tests.
pub struct Suite {
    /// The name on the command line and in the table.
    pub name: &'static str,
    /// What it checks.
    about: &'static str,
    /// After this many minutes it is killed and has failed, if nothing may be skipped.
    minutes: u64,
    when: When,
    body: fn(&Workspace) -> Result<SuiteOutcome>,
}

/// Which runs a suite belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Every run.
    Always,
    /// Only runs with `--nightly`, or that name it.
    Nightly,
}

/// Every suite, in the order of running: the quick and the most informative ones first.
pub const SUITES: [Suite; 19] = [
    Suite {
        name: "format",
        about: "the code is formatted",
        minutes: 2,
        when: When::Always,
        body: suites::format,
    },
    Suite {
        name: "typos",
        about: "no word is misspelt",
        minutes: 3,
        when: When::Always,
        body: suites::typos,
    },
    Suite {
        name: "lint",
        about: "clippy has no complaint",
        minutes: 12,
        when: When::Always,
        body: suites::lint,
    },
    Suite {
        name: "tests",
        about: "everything builds; unit, property and black-box tests",
        minutes: 25,
        when: When::Always,
        body: suites::tests,
    },
    Suite {
        name: "agents",
        about: "the real agents call the same hooks, offline",
        minutes: 15,
        when: When::Always,
        body: suites::agents,
    },
    Suite {
        name: "page",
        about: "the page in a real browser; its API by its description",
        minutes: 10,
        when: When::Always,
        body: suites::page,
    },
    Suite {
        name: "clients",
        about: "the clients in Python and TypeScript",
        minutes: 6,
        when: When::Always,
        body: suites::clients,
    },
    Suite {
        name: "doctests",
        about: "the examples in the code's documentation",
        minutes: 6,
        when: When::Always,
        body: suites::doctests,
    },
    Suite {
        name: "docs",
        about: "the code's documentation builds without warnings",
        minutes: 8,
        when: When::Always,
        body: suites::docs,
    },
    Suite {
        name: "generated",
        about: "schemas and reference pages are up to date",
        minutes: 5,
        when: When::Always,
        body: suites::generated,
    },
    Suite {
        name: "examples",
        about: "every hook of the examples passes its check and its cases",
        minutes: 5,
        when: When::Always,
        body: suites::examples,
    },
    Suite {
        name: "packages",
        about: "every published crate builds from its package, and `anyhook` as it is built first",
        minutes: 8,
        when: When::Always,
        body: package::suite,
    },
    Suite {
        name: "unused",
        about: "every dependency is used",
        minutes: 6,
        when: When::Always,
        body: suites::unused,
    },
    Suite {
        name: "deny",
        about: "licences, sources and known faults of dependencies",
        minutes: 8,
        when: When::Always,
        body: suites::deny,
    },
    Suite {
        name: "dist",
        about: "every package is made, installed, run and taken away",
        minutes: 25,
        when: When::Always,
        body: dist::trial::suite,
    },
    Suite {
        name: "fuzz",
        about: "a short run of every fuzz target",
        minutes: 15,
        when: When::Always,
        body: fuzz::suite,
    },
    Suite {
        name: "instructions",
        about: "the hook path takes no more instructions and system calls than is committed",
        minutes: 6,
        when: When::Always,
        body: bench::instructions::suite,
    },
    Suite {
        name: "features",
        about: "each crate builds from its package, without its features and with them",
        minutes: 20,
        when: When::Nightly,
        body: features::suite,
    },
    Suite {
        name: "dist-gnu",
        about: "as dist, for the archive with dynamic programs",
        minutes: 30,
        when: When::Nightly,
        body: dist::trial::suite_gnu,
    },
];

/// A run in which nothing may be skipped ends within this time, whatever its suites do.
const RUN_LIMIT: Duration = Duration::from_secs(55 * 60);

/// What a skipped suite means.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Skips {
    /// It is listed with its reason.
    #[default]
    Allowed,
    /// It counts as a failure.
    Fail,
}

/// How suites are run.
#[derive(Clone, Copy, Default)]
pub struct RunOptions {
    /// What a skipped suite means.
    pub skips: Skips,
    /// Whether the agents that few people use are run, too.
    pub all_agents: bool,
}

/// A suite that has run.
struct Finished {
    name: &'static str,
    result: Result<SuiteOutcome>,
    time: Duration,
    /// The CPU time of all its processes.
    cpu: Duration,
}

/// Runs the suites named in the arguments, or all.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<TaskResult> {
    let mut skips = match std::env::var("ANYHOOK_STRICT") {
        Ok(value) if value == "1" => Skips::Fail,
        _ => Skips::Allowed,
    };
    let (mut nightly, mut all_agents) = (false, false);
    let mut names = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--strict" => skips = Skips::Fail,
            "--nightly" => nightly = true,
            "--all" => all_agents = true,
            name if find(name).is_some() => names.push(name),
            other => bail!("there is no suite `{other}`\n{}", suite_list().trim_end()),
        }
    }
    let is_chosen = |suite: &&Suite| match names.as_slice() {
        [] => nightly || suite.when == When::Always,
        _ => names.contains(&suite.name),
    };
    let options = RunOptions { skips, all_agents: all_agents || nightly };
    run_suites(workspace, &SUITES.iter().filter(is_chosen).collect::<Vec<_>>(), options)
}

impl Suite {
    /// Returns how long it may take, `elapsed` after the start of the run.
    ///
    /// `None` for a person who waits: they can stop it, and may have requested more than CI does.
    fn limit(&self, elapsed: Duration, skips: Skips) -> Option<Duration> {
        let own = Duration::from_secs(self.minutes * 60);
        (skips == Skips::Fail).then(|| own.min(RUN_LIMIT.saturating_sub(elapsed)))
    }
}

fn find(name: &str) -> Option<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name)
}

/// Runs the suites one after the other and prints the table.
pub fn run_suites(
    workspace: &Workspace,
    suites: &[&Suite],
    options: RunOptions,
) -> Result<TaskResult> {
    let skips = options.skips;
    let begun = Instant::now();
    let mut finished = Vec::new();
    for suite in suites {
        println!("\n=== {}: {} ===", suite.name, suite.about);
        let (start, cpu) = (Instant::now(), children_cpu()?);
        let limit = suite.limit(begun.elapsed(), skips);
        let result = run_apart(workspace, suite, limit, options);
        if let Err(error) = &result {
            println!("failed: {error:#}");
        }
        let (time, cpu) = (start.elapsed(), children_cpu()?.saturating_sub(cpu));
        finished.push(Finished { name: suite.name, result, time, cpu });
    }
    let (summary, ending) = summary(&finished, skips);
    print!("\n{summary}");
    Ok(ending)
}

/// The task that runs one suite for [`run_apart`]. It is not in the help: it is for internal use.
pub const TASK: &str = "suite";

/// Runs a suite in a process of its own, so that it can be killed with all its child processes.
///
/// With a limit nothing may be skipped, not in the tests either.
fn run_apart(
    workspace: &Workspace,
    suite: &Suite,
    limit: Option<Duration>,
    options: RunOptions,
) -> Result<SuiteOutcome> {
    let folder = tempfile::tempdir()?;
    let (answer, left) = (folder.path().join("answer"), folder.path().join("left"));
    let mut command = run_limited::ourselves();
    command.arg(TASK).arg(suite.name).arg(&answer).current_dir(&workspace.root);
    if limit.is_some() {
        command.env("ANYHOOK_STRICT", "1");
    }
    if options.all_agents {
        command.env(suites::ALL_AGENTS, "1");
    }
    let limit = limit.unwrap_or(process::NO_LIMIT);
    let status = run_limited::kept(&command, &left, limit).status()?;
    if status.code() == Some(run_limited::TOO_LONG.into()) {
        bail!("it took longer than its limit of {} s and was ended", limit.as_secs());
    }
    let answer = fs::read(&answer).with_context(|| format!("it ended with {status}"))?;
    let answer: Result<SuiteOutcome, String> = serde_json::from_slice(&answer)?;
    answer.map_err(anyhow::Error::msg)
}

/// The other end of [`run_apart`]: runs the suite and writes how it ended.
pub fn run_one(workspace: &Workspace, arguments: &[String]) -> Result<TaskResult> {
    let [name, answer] = arguments else { bail!("usage: {TASK} NAME ANSWER") };
    let suite = find(name).with_context(|| format!("there is no suite `{name}`"))?;
    let result = (suite.body)(workspace).map_err(|error| format!("{error:#}"));
    fs::write(answer, serde_json::to_vec(&result)?)?;
    Ok(TaskResult::Good)
}

/// Returns the CPU time of all processes that we have waited for, and of their descendants.
fn children_cpu() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let ticks = children_ticks(&stat).context("/proc/self/stat cannot be read")?;
    let second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_millis(ticks * 1000 / second))
}

/// The sum of `cutime` and `cstime`.
fn children_ticks(stat: &str) -> Option<u64> {
    // The name is in parentheses and may contain some itself; then comes the third field.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(16 - 3);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// The suites with what they are for, as lines for the help text.
pub fn suite_list() -> String {
    let mut text = "\nsuites:\n".to_owned();
    for suite in &SUITES {
        let nightly = if suite.when == When::Nightly { " (--nightly)" } else { "" };
        let _ = writeln!(text, "  {:<12} {}{nightly}", suite.name, suite.about);
    }
    text
}

/// The table, the reasons, and the count in the last line.
fn summary(finished: &[Finished], skips: Skips) -> (String, TaskResult) {
    let mut table =
        format!("{:<12} | {:<7} | {:>7} | {:>7}\n", "suite", "result", "seconds", "CPU");
    let mut reasons = String::new();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for suite in finished {
        let (word, count, reason) = match &suite.result {
            Ok(SuiteOutcome::Passed) => ("passed", &mut passed, None),
            Ok(SuiteOutcome::PassedExcept(what)) => ("passed", &mut passed, Some(what.clone())),
            Ok(SuiteOutcome::Skipped(why)) => match skips {
                Skips::Allowed => ("skipped", &mut skipped, Some(why.clone())),
                Skips::Fail => {
                    ("failed", &mut failed, Some(format!("skipped, but nothing may be: {why}")))
                }
            },
            Err(error) => ("failed", &mut failed, Some(format!("{error:#}"))),
        };
        *count += 1;
        let _ = writeln!(table, "{}", row(suite.name, word, suite.time, suite.cpu));
        if let Some(reason) = reason {
            let _ = writeln!(reasons, "{}: {reason}", suite.name);
        }
    }
    let all = |of: fn(&Finished) -> Duration| finished.iter().map(of).sum();
    let _ = writeln!(table, "{}", row("all", "", all(|one| one.time), all(|one| one.cpu)));
    if !reasons.is_empty() {
        table = format!("{table}\n{reasons}");
    }
    let _ = write!(table, "\n{passed} passed, {failed} failed");
    if skipped > 0 {
        let _ = write!(table, ", {skipped} skipped");
    }
    table.push('\n');
    (table, if failed == 0 { TaskResult::Good } else { TaskResult::Bad })
}

fn row(name: &str, result: &str, time: Duration, cpu: Duration) -> String {
    let (time, cpu) = (time.as_secs_f64(), cpu.as_secs_f64());
    format!("{name:<12} | {result:<7} | {time:>7.1} | {cpu:>7.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(name: &'static str, result: Result<SuiteOutcome>) -> Finished {
        let (time, cpu) = (Duration::from_millis(1500), Duration::from_millis(2500));
        Finished { name, result, time, cpu }
    }

    fn three() -> Vec<Finished> {
        vec![
            finished("format", Ok(SuiteOutcome::Passed)),
            finished("tests", Err(anyhow::anyhow!("two tests failed"))),
            finished("deny", Ok(SuiteOutcome::Skipped("cargo-deny is missing".to_owned()))),
        ]
    }

    #[test]
    fn the_summary_is_a_table_the_reasons_and_a_count() {
        let (text, ending) = summary(&three(), Skips::Allowed);
        assert_eq!(
            text,
            "suite        | result  | seconds |     CPU\n\
             format       | passed  |     1.5 |     2.5\n\
             tests        | failed  |     1.5 |     2.5\n\
             deny         | skipped |     1.5 |     2.5\n\
             all          |         |     4.5 |     7.5\n\
             \n\
             tests: two tests failed\n\
             deny: cargo-deny is missing\n\
             \n\
             1 passed, 1 failed, 1 skipped\n"
        );
        assert!(matches!(ending, TaskResult::Bad));
    }

    #[test]
    fn a_skip_is_a_failure_when_skips_fail() {
        let (text, ending) = summary(&three()[2..], Skips::Fail);
        assert!(text.ends_with("\n0 passed, 1 failed\n"), "{text}");
        assert!(matches!(ending, TaskResult::Bad));
    }

    #[test]
    fn a_skip_is_no_failure_otherwise() {
        let (_, ending) = summary(&three()[2..], Skips::Allowed);
        assert!(matches!(ending, TaskResult::Good));
    }

    #[test]
    fn the_time_of_children_is_read_whatever_the_name_is() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 0 0 11 12 130 140 20 0 1 0";
        assert_eq!(children_ticks(stat), Some(270));
        assert_eq!(children_ticks("7 (a"), None);
        children_cpu().unwrap();
    }

    #[test]
    fn a_strict_run_has_an_end() {
        let tests = find("tests").unwrap();
        let own = Duration::from_secs(tests.minutes * 60);
        assert_eq!(tests.limit(Duration::ZERO, Skips::Fail), Some(own));
        let late = RUN_LIMIT.saturating_sub(Duration::from_secs(5));
        assert_eq!(tests.limit(late, Skips::Fail), Some(Duration::from_secs(5)));
        assert_eq!(tests.limit(RUN_LIMIT * 2, Skips::Fail), Some(Duration::ZERO));
        assert_eq!(tests.limit(Duration::ZERO, Skips::Allowed), None);
    }

    #[test]
    fn what_a_suite_says_crosses_the_process() {
        for said in [
            Ok(SuiteOutcome::Passed),
            Ok(SuiteOutcome::PassedExcept("a part".to_owned())),
            Ok(SuiteOutcome::Skipped("no network".to_owned())),
            Err("two tests failed".to_owned()),
        ] {
            let answer = serde_json::to_vec(&said).unwrap();
            let heard: Result<SuiteOutcome, String> = serde_json::from_slice(&answer).unwrap();
            assert_eq!(heard, said);
        }
    }
}
