//! Counts the instructions of the standard dispatches, and checks whether they grew.
//!
//! Times vary between runs by more than most code changes cause; counts do not. The committed
//! counts are those of one toolchain and one target, named next to them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::dispatches::{BenchDispatch, Dispatches, MATCHING, USUAL};
use super::measure::rounded;
use super::program;
use super::system_calls::{self, Calls};
use crate::dist::binary;
use crate::suites::SuiteOutcome;
use crate::{Workspace, process, tools};

/// The path of the counts in the repository.
const FILE: &str = "xtask/instructions.json";
/// How much a count may grow, in percent.
const MARGIN: f64 = 2.0;
/// How often each dispatch is counted to determine the spread.
const TURNS: usize = 5;
/// How often each dispatch is counted to compare it.
const AT_LEAST: usize = 3;
/// How a change is accepted.
const ACCEPT: &str = "hint: if that is what the change is worth, accept it with \
                      `cargo xtask bench --instructions --write`";

/// The committed counts.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Committed {
    pub toolchain: String,
    pub target: String,
    pub valgrind: String,
    /// By dispatch.
    pub instructions: BTreeMap<String, u64>,
    /// Of the dispatch on which none of 100 hooks matches.
    pub system_calls: Calls,
}

impl Committed {
    /// Reads the committed file.
    pub fn read(workspace: &Workspace) -> Result<Self> {
        let file = workspace.root.join(FILE);
        let text = fs::read_to_string(&file).with_context(|| format!("{FILE} cannot be read"))?;
        serde_json::from_str(&text).with_context(|| format!("{FILE} is not what it should be"))
    }
}

/// What one dispatch took, several times.
pub struct Counted {
    pub name: &'static str,
    /// The lowest count is what the program itself takes, see [`lowest`].
    pub lowest: u64,
    /// How far the highest is above the lowest, in percent.
    pub spread: f64,
}

/// Counts every dispatch several times.
pub fn count_all(dispatches: &Dispatches) -> Result<Vec<Counted>> {
    let counted = dispatches.list.iter().map(|dispatch| {
        let mut counts = Vec::with_capacity(TURNS);
        for _ in 0..TURNS {
            counts.push(count(dispatches, dispatch)?);
        }
        counts.sort_unstable();
        let spread = change(counts[0], counts[TURNS - 1]);
        Ok(Counted { name: dispatch.name, lowest: counts[0], spread })
    });
    counted.collect()
}

/// Returns the instructions of the path on which none of 100 hooks matches, as a multiple of the
/// committed.
pub fn growth(workspace: &Workspace, dispatches: &Dispatches) -> Result<f64> {
    let committed = Committed::read(workspace)?;
    let before = committed.instructions.get(USUAL).context("nothing is committed for it")?;
    let now = lowest(dispatches, dispatches.find(USUAL)?)?;
    Ok(1.0 + change(*before, now) / 100.0)
}

/// Counts one dispatch several times; the lowest is what the program itself takes.
///
/// An older valgrind does not support waiting for the end of a process, so the program polls every
/// few milliseconds: more often on a busy machine.
fn lowest(dispatches: &Dispatches, dispatch: &BenchDispatch) -> Result<u64> {
    let mut lowest = count(dispatches, dispatch)?;
    for _ in 1..AT_LEAST {
        lowest = lowest.min(count(dispatches, dispatch)?);
    }
    Ok(lowest)
}

/// Counts one dispatch once.
fn count(dispatches: &Dispatches, dispatch: &BenchDispatch) -> Result<u64> {
    let valgrind = tools::on_path("valgrind").context("valgrind is missing")?;
    let report = dispatches.report();
    let mut log = OsString::from("--log-file=");
    log.push(&report);
    let flags = ["--tool=callgrind", "--callgrind-out-file=/dev/null"].map(OsStr::new);
    // What a child does before it executes another program is not ours.
    let children = ["--trace-children=no", "--child-silent-after-fork=yes"].map(OsStr::new);
    let arguments = flags.into_iter().chain(children).chain([log.as_os_str()]);
    dispatches.run(dispatch, Some(&valgrind), arguments)?;
    collected(&fs::read_to_string(&report)?)
}

/// Reads the count from callgrind's report.
fn collected(report: &str) -> Result<u64> {
    let count = report.lines().find_map(|line| {
        let (before, number) = line.rsplit_once(':')?;
        before.trim_end().ends_with("Collected").then(|| number.trim().parse().ok())?
    });
    count.with_context(|| format!("callgrind counted nothing: {report}"))
}

/// Returns by how much a count has changed, in percent.
#[expect(clippy::cast_precision_loss, reason = "a ratio needs no more than fifty bits")]
fn change(before: u64, now: u64) -> f64 {
    (now as f64 - before as f64) * 100.0 / before as f64
}

/// Prints the counts next to the committed ones.
pub fn print(counted: &[Counted], committed: Option<&Committed>) {
    println!("\n| dispatch | instructions | spread, % | committed | change, % |");
    println!("|---|--:|--:|--:|--:|");
    for one in counted {
        let before = committed.and_then(|committed| committed.instructions.get(one.name).copied());
        let (before, change) = match before {
            Some(before) => (grouped(before), format!("{:+.2}", change(before, one.lowest))),
            None => (String::new(), String::new()),
        };
        println!(
            "| {} | {} | {:.3} | {before} | {change} |",
            one.name,
            grouped(one.lowest),
            one.spread
        );
    }
}

/// Returns the committed counts as a table for the documents.
pub fn table(committed: &Committed) -> String {
    let mut table = "| dispatch | instructions |\n|---|--:|\n".to_owned();
    for (name, count) in &committed.instructions {
        table.push_str(&format!("| {name} | {} |\n", grouped(*count)));
    }
    table
}

/// Writes the counts into the repository; returns them.
pub fn write(workspace: &Workspace, counted: &[Counted], calls: Calls) -> Result<Committed> {
    let committed = Committed {
        toolchain: toolchain(workspace)?,
        target: program::target()?,
        valgrind: valgrind()?,
        instructions: counted.iter().map(|one| (one.name.to_owned(), one.lowest)).collect(),
        system_calls: calls,
    };
    fs::write(workspace.root.join(FILE), serde_json::to_string_pretty(&committed)? + "\n")?;
    eprintln!("wrote {FILE}");
    Ok(committed)
}

/// Returns the counts as JSON.
pub fn as_json(counted: &[Counted]) -> serde_json::Value {
    let list: serde_json::Map<_, _> = counted
        .iter()
        .map(|one| {
            let found = serde_json::json!({
                "instructions": one.lowest, "spread_percent": rounded(one.spread),
            });
            (one.name.to_owned(), found)
        })
        .collect();
    list.into()
}

/// The suite: nothing takes more instructions, or other system calls, than is committed.
pub fn suite(workspace: &Workspace) -> Result<SuiteOutcome> {
    let committed = Committed::read(workspace)?;
    if let Err(error) = can_be_compared(workspace, &committed) {
        return Ok(SuiteOutcome::Skipped(format!("{error:#}")));
    }
    let dispatches = Dispatches::make(&program::shipped_hook(workspace)?)?;
    let mut found = BTreeMap::new();
    for dispatch in &dispatches.list {
        found.insert(dispatch.name.to_owned(), lowest(&dispatches, dispatch)?);
    }
    let others = system_calls::looks_at_others(&dispatches)?;
    if !others.is_empty() {
        bail!(
            "{MATCHING}: it looks at other processes, so its time and its counts depend on how \
             many there are:\n{}",
            others.join("\n")
        );
    }
    let verdict = compare(&committed, &found, &system_calls::count(&dispatches)?);
    for line in verdict.worse.iter().chain(&verdict.better) {
        println!("{line}");
    }
    match (verdict.worse.is_empty(), verdict.better.is_empty()) {
        (false, _) => bail!("{}\n{ACCEPT}", verdict.worse.join("\n")),
        (true, false) => {
            Ok(SuiteOutcome::PassedExcept(format!("{}\n{ACCEPT}", verdict.better.join("\n"))))
        }
        (true, true) => Ok(SuiteOutcome::Passed),
    }
}

/// Checks that the tools are available, and that the committed counts are for a program like this
/// one.
fn can_be_compared(workspace: &Workspace, committed: &Committed) -> Result<()> {
    tools::ensure_programs(&tools::FOR_COUNTING)?;
    binary::ensure_static()?;
    // An older valgrind does not support every system call, and the program takes another path.
    let words = |toolchain: &str, target: &str, valgrind: &str| {
        format!("{toolchain} for {target}, counted by valgrind {valgrind}")
    };
    let before = words(&committed.toolchain, &committed.target, &committed.valgrind);
    let here = words(&toolchain(workspace)?, &program::target()?, &valgrind()?);
    if here != before {
        bail!("the counts are of {before}, and this is {here}\n{ACCEPT}");
    }
    Ok(())
}

/// What has changed by more than the margin.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdict {
    worse: Vec<String>,
    better: Vec<String>,
}

fn compare(committed: &Committed, found: &BTreeMap<String, u64>, calls: &Calls) -> Verdict {
    let mut verdict = Verdict::default();
    for (name, &now) in found {
        let Some(&before) = committed.instructions.get(name) else {
            verdict.worse.push(format!("{name}: nothing is committed for it"));
            continue;
        };
        let change = change(before, now);
        let line = format!(
            "{name}: {} instructions, {change:+.1} % against {}",
            grouped(now),
            grouped(before)
        );
        if change > MARGIN {
            verdict.worse.push(line);
        } else if change < -MARGIN {
            verdict.better.push(line);
        }
    }
    if let Some(words) = system_calls::difference(&committed.system_calls, calls) {
        let line = format!("{USUAL}: other system calls: {words}");
        let sum = |calls: &Calls| calls.values().sum::<u64>();
        // Fewer are an improvement, but the documents are no longer correct.
        let fewer = if sum(calls) < sum(&committed.system_calls) { " (fewer)" } else { "" };
        verdict.worse.push(line + fewer);
    }
    verdict
}

/// The compiler's name and version.
fn toolchain(workspace: &Workspace) -> Result<String> {
    let version = process::output(workspace.command("rustc").arg("--version"))?;
    Ok(version.trim().to_owned())
}

fn valgrind() -> Result<String> {
    let path = tools::on_path("valgrind").context("valgrind is missing")?;
    let version = process::output(Command::new(path).arg("--version"))?;
    Ok(version.trim().trim_start_matches("valgrind-").to_owned())
}

/// A number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed() -> Committed {
        Committed {
            toolchain: "rustc 1.90.0".to_owned(),
            target: "x86_64-unknown-linux-musl".to_owned(),
            valgrind: "3.19.0".to_owned(),
            instructions: counts(&[("a", 100_000), ("b", 100_000)]),
            system_calls: counts(&[("read", 2)]),
        }
    }

    fn counts(list: &[(&str, u64)]) -> BTreeMap<String, u64> {
        list.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
    }

    #[test]
    fn the_count_is_found_in_the_report() {
        let report = "==7== Callgrind\n==7== Events    : Ir\n==7== Collected : 29946023\n==7==\n";
        assert_eq!(collected(report).unwrap(), 29_946_023);
        assert!(collected("==7== Events    : Ir\n").is_err());
    }

    #[test]
    fn what_stays_within_the_margin_passes() {
        let found = counts(&[("a", 102_000), ("b", 98_000)]);
        let verdict = compare(&committed(), &found, &counts(&[("read", 2)]));
        assert_eq!(verdict, Verdict::default());
    }

    #[test]
    fn growth_is_worse_and_shrinking_is_told() {
        let found = counts(&[("a", 102_001), ("b", 97_999), ("c", 1)]);
        let verdict = compare(&committed(), &found, &counts(&[("read", 2)]));
        assert_eq!(
            verdict.worse,
            ["a: 102,001 instructions, +2.0 % against 100,000", "c: nothing is committed for it"]
        );
        assert_eq!(verdict.better, ["b: 97,999 instructions, -2.0 % against 100,000"]);
    }

    #[test]
    fn any_other_system_call_is_told() {
        let same = counts(&[("a", 100_000), ("b", 100_000)]);
        let more = compare(&committed(), &same, &counts(&[("read", 3)]));
        assert_eq!(more.worse, ["100 hooks, none matches: other system calls: read 2 → 3"]);
        let fewer = compare(&committed(), &same, &counts(&[("read", 1)]));
        assert_eq!(
            fewer.worse,
            ["100 hooks, none matches: other system calls: read 2 → 1 (fewer)"]
        );
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(29_946_023), "29,946,023");
    }
}
