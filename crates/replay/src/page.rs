//! A replay's report, for people.

use std::io;

use anyhook_model::report::{ReplayReport, ReplayedEvent};
use anyhook_terminal::format::{second, span};
use anyhook_terminal::{Cell, Out, Tone, counted, first_line};

/// At most this many events of each kind are shown; `--json` has all.
const SHOWN: usize = 20;

/// Shows what hooks would have decided, and what that would change.
pub fn show(report: &ReplayReport, out: &mut Out) -> io::Result<()> {
    let names = match &report.hooks[..] {
        [one] => one.clone(),
        many => counted(many.len(), "hook"),
    };
    out.line(&[
        (Tone::Strong, &names),
        (Tone::Plain, &format!(": replayed {}", counted(report.events, "event"))),
        (
            Tone::Warn,
            match (report.files_protected, report.network_cut) {
                (false, _) => " (unprotected)",
                (true, false) => " (with network)",
                (true, true) => "",
            },
        ),
    ])?;
    let summary = format!("matched {}, unchanged {}", report.due, report.same);
    out.line(&[(Tone::Plain, "  "), (Tone::Plain, &summary)])?;
    for (tone, events, noun, what) in [
        (Tone::Bad, &report.new_blocks, "new block", "allowed then, would be blocked now"),
        (Tone::Warn, &report.new_allows, "new allow", "blocked then, would be allowed now"),
        (Tone::Warn, &report.differences, "difference", "would be answered differently"),
        (Tone::Dim, &report.failed, "failure", "during the replay, in the scratch folder"),
        (Tone::Dim, &report.redacted, "redacted event", "secrets were redacted, so not compared"),
    ] {
        if !events.is_empty() {
            out.line(&[
                (tone, &format!("  {}", counted(events.len(), noun))),
                (Tone::Dim, &format!(": {what}")),
            ])?;
            show_events(events, out)?;
        }
    }
    if report.gone > 0 {
        let text = format!("  {} could not be reconstructed", counted(report.gone, "event"));
        out.line(&[(Tone::Dim, &text)])?;
    }
    for problem in &report.problems {
        out.line(&[(Tone::Warn, "  note: "), (Tone::Plain, problem)])?;
    }
    let cost = &report.cost;
    if cost.runs > 0 {
        let text = format!(
            "  cost: {}, p50 {}, p95 {}, total {}",
            counted(cost.runs, "run"),
            span(cost.p50_us),
            span(cost.p95_us),
            span(cost.total_us)
        );
        out.line(&[(Tone::Dim, &text)])?;
    }
    Ok(())
}

fn show_events(events: &[ReplayedEvent], out: &mut Out) -> io::Result<()> {
    let row = |event: &ReplayedEvent| {
        let about = [event.tool.as_deref(), event.about.as_deref()];
        let about = about.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let change = match &event.then {
            Some(then) if *then != event.now => format!("{then} → {}", event.now),
            _ => event.now.clone(),
        };
        vec![
            Cell::new(Tone::Dim, "   "),
            Cell::new(Tone::Dim, second(event.at)),
            Cell::new(Tone::Plain, &event.id),
            Cell::new(Tone::Plain, &event.host),
            Cell::new(Tone::Plain, change),
            Cell::new(Tone::Plain, first_line(&about, 40)),
            Cell::new(Tone::Dim, first_line(event.reason.as_deref().unwrap_or(""), 50)),
        ]
    };
    let rows: Vec<Vec<Cell>> = events.iter().take(SHOWN).map(row).collect();
    out.table(&rows)?;
    if events.len() > SHOWN {
        let rest = format!("    … and {} more (--json)", events.len() - SHOWN);
        out.line(&[(Tone::Dim, &rest)])?;
    }
    Ok(())
}
