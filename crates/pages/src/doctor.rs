//! The page of `anyhook doctor`: what was found, by subject, with the next step for each problem.

use std::io;

use anyhook_model::report::DoctorReport;
use anyhook_terminal::{Out, Tone};

/// Shows what was found, and how many problems there are.
pub fn show(report: &DoctorReport, out: &mut Out) -> io::Result<()> {
    let bad = report.findings.iter().filter(|finding| finding.severity == "bad").count();
    let mut about = "";
    for finding in &report.findings {
        if finding.about != about {
            out.line(&[(Tone::Strong, &finding.about)])?;
            about = &finding.about;
        }
        let (tone, mark) = match finding.severity.as_str() {
            "bad" => (Tone::Bad, "  ✗ "),
            "good" => (Tone::Good, "  ✓ "),
            _ => (Tone::Dim, "  · "),
        };
        out.line(&[(tone, mark), (Tone::Plain, &finding.message)])?;
        if let Some(hint) = &finding.hint {
            out.line(&[(Tone::Hint, "    hint: "), (Tone::Plain, hint)])?;
        }
    }
    let words = match bad {
        0 => "no problems found".to_owned(),
        1 => "1 problem found".to_owned(),
        many => format!("{many} problems found"),
    };
    out.line(&[(if bad == 0 { Tone::Good } else { Tone::Bad }, &words)])?;
    Ok(())
}
