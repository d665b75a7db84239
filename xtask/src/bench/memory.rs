//! Measures the peak memory of a hook call.
//!
//! Queried from the kernel by GNU `time`. Not by us: a process that is started without a copy of
//! its parent's memory, as ours are, is charged for its parent's peak, and ours is larger than what
//! is measured. `time` forks itself, which is small; what it is charged for is the first row.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::project::{BenchProject, HOOK, open};
use super::{contenders, events};
use crate::tools;

/// How often each is measured; the highest counts.
const TURNS: usize = 5;

pub const SMALL: &str = "anyhook, 100 hooks, 1 KB event";
pub const LONG_TEXT: &str = "anyhook, 100 hooks, 10 MB event, one long text";
pub const SMALL_VALUES: &str = "anyhook, 100 hooks, 10 MB event, many small values";

/// The peak memory of a program.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Peak {
    pub name: String,
    /// The size of the event.
    pub event_bytes: u64,
    pub bytes: u64,
    /// The minor page faults: how often a page had to be mapped or created before the program
    /// continued; the minimum, including those of `time` before it becomes the program.
    #[serde(default)]
    pub page_faults: u64,
}

/// Measures all of them.
pub fn measure(place: &BenchProject, anyhook: &Path, limit: &Path) -> Result<Vec<Peak>> {
    tools::ensure_programs(&tools::FOR_MEMORY)?;
    let project = &place.project;
    let small = place.file("small.json", &events::command(project, events::SMALL)?)?;
    let text = place.file("text.json", &events::command(project, events::HUGE)?)?;
    let values = place.file("values.json", &events::small_values(project, events::HUGE))?;
    let home = place.home("memory", 100)?;
    let mut peaks = Vec::new();
    for (name, program, arguments, event) in [
        (contenders::LIMIT, limit, &[][..], &small),
        (contenders::TRUE, Path::new("/bin/true"), &[][..], &small),
        (SMALL, anyhook, &HOOK[..], &small),
        (LONG_TEXT, anyhook, &HOOK[..], &text),
        (SMALL_VALUES, anyhook, &HOOK[..], &values),
    ] {
        let (mut bytes, mut page_faults) = (0, u64::MAX);
        // The first turn creates what the later ones find.
        for turn in 0..=TURNS {
            let (peak, faults) = once(place, program, arguments, &home, event)?;
            if turn > 0 {
                bytes = bytes.max(peak);
                page_faults = page_faults.min(faults);
            }
        }
        let event_bytes = event.metadata()?.len();
        peaks.push(Peak { name: name.to_owned(), event_bytes, bytes, page_faults });
    }
    Ok(peaks)
}

/// Runs a program once and returns its peak in bytes, and its page faults.
fn once(
    place: &BenchProject,
    program: &Path,
    arguments: &[&str],
    home: &Path,
    event: &Path,
) -> Result<(u64, u64)> {
    let report = home.join("peak");
    let time = tools::on_path("time").context("GNU time is missing")?;
    let mut command: Command = place.command(&time, home);
    command.arg("--format=%M %R").arg("--output").arg(&report);
    let status = command.arg(program).args(arguments).stdin(open(event)?).status()?;
    if !status.success() {
        bail!("`{}` ended with {status}, so its memory means nothing", program.display());
    }
    let (kilobytes, faults) = numbers(&std::fs::read_to_string(&report)?)?;
    Ok((kilobytes * 1024, faults))
}

/// Parses the output of `time`: kilobytes and page faults, after lines about how the program ended.
fn numbers(report: &str) -> Result<(u64, u64)> {
    let read = |line: &str| {
        let (kilobytes, faults) = line.trim().split_once(' ')?;
        Some((kilobytes.parse().ok()?, faults.parse().ok()?))
    };
    let numbers = report.lines().last().and_then(read);
    numbers.with_context(|| format!("`time` wrote no numbers: {report}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_has_the_numbers() {
        assert_eq!(numbers("1076 51\n").unwrap(), (1076, 51));
        assert_eq!(numbers("Command exited with non-zero status 2\n488 7\n").unwrap(), (488, 7));
        assert!(numbers("").is_err());
        assert!(numbers("time: cannot run x\n").is_err());
    }
}
