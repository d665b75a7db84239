//! The figures in the documents: generated from the stored report and the committed counts, and
//! from nothing else, so that `cargo xtask generate --check` can check them.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::instructions::{self, Committed};
use super::report::BenchReport;
use super::{path_phases, picture, system_calls, table};
use crate::Workspace;

/// The report of the run that the documents describe.
const REPORT: &str = "docs/performance.json";
const PAGE: &str = "docs/performance.md";
const PICTURE: &str = "docs/pictures/performance.svg";

/// Stores a report.
pub fn keep(workspace: &Workspace, report: &BenchReport) -> Result<()> {
    fs::write(workspace.root.join(REPORT), serde_json::to_string_pretty(report)? + "\n")?;
    eprintln!("wrote {REPORT}");
    Ok(())
}

/// Returns whether there is a report to generate the page from; the very first counts come before
/// it.
pub fn has_report(workspace: &Workspace) -> bool {
    workspace.root.join(REPORT).exists()
}

/// Generates the page and the picture below `root`, a folder with the layout of the repository.
pub fn generate(workspace: &Workspace, root: &Path) -> Result<()> {
    let text = fs::read_to_string(workspace.root.join(REPORT))
        .with_context(|| format!("{REPORT} cannot be read"))?;
    let report: BenchReport = serde_json::from_str(&text)
        .with_context(|| format!("{REPORT} is not what it should be"))?;
    let counts = Committed::read(workspace)?;
    let page = fs::read_to_string(workspace.root.join(PAGE))?;
    let page = filled(
        &page,
        &[
            ("summary", table::summary(&report) + ".\n"),
            ("goals", table::goals(&report.goals)),
            ("times", table::times(&report.times)),
            ("memory", table::memory(&report.memory)),
            ("stations", path_phases::table(&report.stations)),
            ("system-calls", system_calls::table(&counts.system_calls)),
            ("instructions", instructions::table(&counts)),
        ],
    )?;
    for (file, text) in [(PAGE, page), (PICTURE, picture::draw(&report))] {
        let file = root.join(file);
        fs::create_dir_all(file.parent().context("a generated file has no folder")?)?;
        fs::write(file, text)?;
    }
    Ok(())
}

/// Generates them in the repository itself.
pub fn write(workspace: &Workspace) -> Result<()> {
    generate(workspace, &workspace.root)?;
    eprintln!("wrote {PAGE}\nwrote {PICTURE}");
    Ok(())
}

/// Inserts each part between its markers; everything else is unchanged.
pub fn filled(page: &str, parts: &[(&str, String)]) -> Result<String> {
    let mut page = page.to_owned();
    for (name, text) in parts {
        let (begin, end) = (format!("<!-- begin: {name} -->\n"), format!("<!-- end: {name} -->"));
        let Some(start) = page.find(&begin).map(|at| at + begin.len()) else {
            bail!("the page has no line `{}`", begin.trim_end());
        };
        let Some(stop) = page[start..].find(&end).map(|at| at + start) else {
            bail!("the page has no line `{end}` after its beginning");
        };
        page.replace_range(start..stop, &format!("\n{text}\n"));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_TEXT: &str = "# A\n<!-- begin: a -->\nold\n<!-- end: a -->\nb\n";

    #[test]
    fn what_is_between_the_marks_is_replaced() {
        let page = filled(PAGE_TEXT, &[("a", "new\n".to_owned())]).unwrap();
        assert_eq!(page, "# A\n<!-- begin: a -->\n\nnew\n\n<!-- end: a -->\nb\n");
        assert_eq!(filled(&page, &[("a", "new\n".to_owned())]).unwrap(), page);
    }

    #[test]
    fn a_missing_mark_is_told() {
        for (page, name) in [(PAGE_TEXT, "b"), ("<!-- begin: b -->\n", "b")] {
            let error = filled(page, &[(name, String::new())]).unwrap_err();
            assert!(error.to_string().contains(": b -->"), "{error}");
        }
    }
}
