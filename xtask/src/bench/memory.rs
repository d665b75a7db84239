//! How much memory a hook call takes at its peak.
//!
//! Asked of the kernel by GNU `time`. Not by us: a process that is started without a copy of its
//! parent's memory, as ours are, is charged for its parent's peak, and ours is larger than what is
//! measured. `time` makes a copy of itself, which is small; what it is charged for is the first
//! row.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::place::{HOOK, Place, open};
use super::{contenders, events};
use crate::tools;

/// How often each is measured; the highest counts.
const TURNS: usize = 5;

pub const SMALL: &str = "anyhook, 100 hooks, 1 KB event";
pub const LONG_TEXT: &str = "anyhook, 100 hooks, 10 MB event, one long text";
pub const SMALL_VALUES: &str = "anyhook, 100 hooks, 10 MB event, many small values";

/// The most memory a program had.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Peak {
    pub name: String,
    /// The size of the event.
    pub event_bytes: u64,
    pub bytes: u64,
}

/// Measures all of them.
pub fn measure(place: &Place, anyhook: &Path, limit: &Path) -> Result<Vec<Peak>> {
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
        let mut bytes = 0;
        // The first turn makes what the later ones find.
        for turn in 0..=TURNS {
            let once = peak(place, program, arguments, &home, event)?;
            if turn > 0 {
                bytes = bytes.max(once);
            }
        }
        let event_bytes = event.metadata()?.len();
        peaks.push(Peak { name: name.to_owned(), event_bytes, bytes });
    }
    Ok(peaks)
}

/// Runs a program once and returns its peak in bytes.
fn peak(
    place: &Place,
    program: &Path,
    arguments: &[&str],
    home: &Path,
    event: &Path,
) -> Result<u64> {
    let report = home.join("peak");
    let time = tools::on_path("time").context("GNU time is missing")?;
    let mut command: Command = place.command(&time, home);
    command.arg("--format=%M").arg("--output").arg(&report);
    let status = command.arg(program).args(arguments).stdin(open(event)?).status()?;
    if !status.success() {
        bail!("`{}` ended with {status}, so its memory means nothing", program.display());
    }
    kilobytes(&std::fs::read_to_string(&report)?).map(|number| number * 1024)
}

/// Reads what `time` writes: a number in kilobytes, after lines about how the program ended.
fn kilobytes(report: &str) -> Result<u64> {
    let number = report.lines().last().and_then(|line| line.trim().parse().ok());
    number.with_context(|| format!("`time` wrote no number: {report}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_number() {
        assert_eq!(kilobytes("1076\n").unwrap(), 1076);
        assert_eq!(kilobytes("Command exited with non-zero status 2\n488\n").unwrap(), 488);
        assert!(kilobytes("").is_err());
        assert!(kilobytes("time: cannot run x\n").is_err());
    }
}
