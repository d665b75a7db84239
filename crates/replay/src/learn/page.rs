//! Shows what was learned, for people.

use std::io;

use anyhook_model::Effect;
use anyhook_model::report::learn::{CallCounts, HookProposal, LearnReport};
use anyhook_terminal::format::second;
use anyhook_terminal::{Cell, Out, Tone, counted};

/// At most this many kinds of calls without a proposal are shown.
const SHOWN: usize = 8;

/// Shows the proposals in a table; with `whole` also each one's HOOK.md.
pub fn show(report: &LearnReport, whole: bool, out: &mut Out) -> io::Result<()> {
    let calls = &report.calls;
    let since = format!("{} since {}: ", counted(calls.calls, "call"), second(report.since));
    let said = format!(
        "people allowed {} and denied {}, hooks denied {}",
        calls.allowed, calls.denied, calls.blocked
    );
    out.line(&[(Tone::Plain, &since), (Tone::Plain, &said)])?;
    if report.proposals.is_empty() {
        out.line(&[(Tone::Dim, "they suggest no new hook")])?;
    } else {
        out.gap()?;
        table(&report.proposals, out)?;
    }
    for proposal in report.proposals.iter().filter(|_| whole) {
        show_whole(proposal, out)?;
    }
    if !whole {
        show_left_out(report, out)?;
    }
    for problem in &report.problems {
        out.line(&[(Tone::Warn, "note: "), (Tone::Plain, problem)])?;
    }
    Ok(())
}

/// Shows what each proposal would have decided about, and how people had decided.
fn table(proposals: &[HookProposal], out: &mut Out) -> io::Result<()> {
    let titles =
        ["proposal", "made from", "would have", "of them denied", "allowed", "ran", "unknown"];
    let mut rows: Vec<Vec<Cell>> =
        vec![titles.into_iter().map(|title| Cell::new(Tone::Dim, title)).collect()];
    rows.extend(proposals.iter().map(row));
    out.table(&rows)
}

fn row(proposal: &HookProposal) -> Vec<Cell> {
    let CallCounts { calls, allowed, denied, blocked, ran, unanswered, .. } =
        &proposal.would_have_decided;
    let (tone, verb) = match proposal.decision {
        Effect::Deny => (Tone::Bad, "denied"),
        Effect::Ask => (Tone::Warn, "asked about"),
        Effect::Allow => (Tone::Good, "allowed"),
    };
    let number = |count: usize| Cell::new(Tone::Plain, count.to_string());
    vec![
        Cell::new(Tone::Strong, &proposal.name),
        Cell::new(Tone::Plain, counted(proposal.evidence.len(), "call")),
        Cell::new(tone, format!("{verb} {calls}")),
        number(denied + blocked),
        number(*allowed),
        number(*ran),
        number(*unanswered),
    ]
}

fn show_whole(proposal: &HookProposal, out: &mut Out) -> io::Result<()> {
    out.gap()?;
    out.line(&[(Tone::Strong, &proposal.name), (Tone::Dim, "/HOOK.md")])?;
    for line in proposal.hook_file.lines() {
        out.line(&[(Tone::Dim, "  │ "), (Tone::Plain, line)])?;
    }
    for test in &proposal.tests {
        let input = &test.case["event"]["tool_input"];
        let decision = test.case["expect"]["decision"].as_str().unwrap_or_default();
        let text =
            format!("  {decision:7} {}", anyhook_terminal::first_line(&input.to_string(), 70));
        out.line(&[(Tone::Dim, "  test"), (Tone::Plain, &text)])?;
    }
    Ok(())
}

fn show_left_out(report: &LearnReport, out: &mut Out) -> io::Result<()> {
    if report.left_out.is_empty() {
        return Ok(());
    }
    out.gap()?;
    out.line(&[(Tone::Dim, "not proposed")])?;
    let row = |one: &anyhook_model::report::learn::LeftOutGroup| {
        vec![
            Cell::new(Tone::Plain, format!("  {}", one.subject)),
            Cell::new(Tone::Dim, counted(one.calls.calls, "call")),
            Cell::new(Tone::Dim, &one.why),
        ]
    };
    let rows: Vec<Vec<Cell>> = report.left_out.iter().take(SHOWN).map(row).collect();
    out.table(&rows)?;
    match report.left_out.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => out.line(&[(Tone::Dim, &format!("  … and {more} more (--json)"))]),
    }
}
