//! One hook in detail: each host, its slowest runs, its failures by message.

use std::io;

use anyhook_model::report::StatsReport;
use anyhook_model::report::stats::{HookStats, RunStats};
use anyhook_terminal::format::{minute, second, span, thousands};
use anyhook_terminal::sparkline::sparkline;
use anyhook_terminal::{Column, Page, Tone};

use super::overview::{run_columns, show_header, show_never_fired};
use super::shadow::{shadow_line, show_shadow_blocks};

/// Shows the selected hooks in detail.
pub fn show(report: &StatsReport, asked: &[String], page: &mut Page<'_>) -> io::Result<()> {
    show_header(report, page)?;
    for hook in &report.hooks {
        show_hook(hook, report, page)?;
    }
    for name in asked {
        let has_run = report.hooks.iter().any(|hook| hook.hook == *name);
        if !has_run && !report.never_fired.iter().any(|never| never.hook == *name) {
            page.gap()?;
            page.line(&[(Tone::Strong, name), (Tone::Dim, "  no runs in this period")])?;
        }
    }
    show_never_fired(report, page)
}

fn show_hook(hook: &HookStats, report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    page.gap()?;
    let note = if hook.installed { "" } else { "  not installed here" };
    page.line(&[(Tone::Strong, &hook.hook), (Tone::Dim, note)])?;
    show_facts(&hook.all, report, page)?;
    page.gap()?;
    let mut rows: Vec<(String, &RunStats)> =
        hook.hosts.iter().map(|at| (at.host.clone(), &at.stats)).collect();
    if rows.len() > 1 {
        rows.push(("all".to_owned(), &hook.all));
    }
    page.table(2, run_columns("host", &rows, report))?;
    if let Some(shadow) = &hook.shadow {
        page.heading("  shadow")?;
        page.line(&[(Tone::Warn, &format!("    {}", shadow_line(shadow)))])?;
        show_shadow_blocks(shadow, page)?;
    }
    show_slowest_runs(hook, page)?;
    show_failures(hook, page)
}

/// Shows every number, whatever the width: the table may not have room for some.
fn show_facts(stats: &RunStats, report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    let mut facts: Vec<(&str, Tone, String)> = Vec::new();
    let room = page.width.saturating_sub(24);
    let unit = report.steps.as_ref().map_or("", |steps| steps.unit.as_str());
    let line = |values: &[u64]| format!("  {} per {unit}", sparkline(values, room));
    let runs = format!("{}{}", thousands(stats.runs), line(&stats.runs_per_step));
    facts.push(("runs", Tone::Plain, runs));
    let by_failure = match stats.blocks_by_failure {
        0 => String::new(),
        number => format!(", {} by failing", thousands(number)),
    };
    if stats.blocks > 0 {
        let blocks =
            format!("{}{by_failure}{}", thousands(stats.blocks), line(&stats.blocks_per_step));
        facts.push(("blocks", Tone::Bad, blocks));
    }
    for (name, tone, number) in [
        ("asks", Tone::Warn, stats.asks),
        ("allows", Tone::Good, stats.allows),
        ("changes", Tone::Plain, stats.input_changes),
        ("capped", Tone::Warn, stats.capped),
        ("failures", Tone::Warn, stats.failures),
        ("timeouts", Tone::Warn, stats.timeouts),
        ("unfinished", Tone::Dim, stats.unfinished),
    ] {
        if number > 0 {
            facts.push((name, tone, thousands(number)));
        }
    }
    if let Some(time) = &stats.time {
        let [p50, p95, p99, most, total] =
            [time.p50_us, time.p95_us, time.p99_us, time.max_us, time.total_us].map(span);
        let text = format!("p50 {p50} · p95 {p95} · p99 {p99} · max {most} · total {total}");
        facts.push(("time", Tone::Plain, text));
    }
    if let Some(per_session) = stats.per_session_us {
        let sessions = thousands(stats.sessions);
        facts.push(("sessions", Tone::Plain, format!("{sessions}, {} each", span(per_session))));
    }
    if let Some(last) = stats.last_run {
        facts.push(("last run", Tone::Plain, minute(last)));
    }
    for (name, tone, text) in facts {
        page.line(&[(Tone::Dim, &format!("  {name:<11}")), (tone, &text)])?;
    }
    Ok(())
}

fn show_slowest_runs(hook: &HookStats, page: &mut Page<'_>) -> io::Result<()> {
    let rows = &hook.slowest_runs;
    if rows.is_empty() {
        return Ok(());
    }
    page.heading("  slowest runs")?;
    let column = |cell: &dyn Fn(usize) -> (Tone, String)| {
        Column::new("", (0..rows.len()).map(cell).collect::<Vec<_>>().into_iter())
    };
    page.table(
        4,
        vec![
            column(&|row| (Tone::Plain, span(rows[row].took_us))).right(),
            column(&|row| (Tone::Dim, second(rows[row].at))).weight(1),
            column(&|row| (Tone::Plain, rows[row].id.to_string())),
            column(&|row| (Tone::Dim, rows[row].host.clone())).weight(2).least(4),
            column(&|row| (Tone::Plain, rows[row].about.clone())).weight(3).least(10),
        ],
    )
}

fn show_failures(hook: &HookStats, page: &mut Page<'_>) -> io::Result<()> {
    let rows = &hook.failure_messages;
    if rows.is_empty() {
        return Ok(());
    }
    page.heading("  failures")?;
    let column = |cell: &dyn Fn(usize) -> (Tone, String)| {
        Column::new("", (0..rows.len()).map(cell).collect::<Vec<_>>().into_iter())
    };
    page.table(
        4,
        vec![
            column(&|row| (Tone::Warn, format!("{} ×", thousands(rows[row].count)))).right(),
            column(&|row| (Tone::Plain, rows[row].message.clone())).least(16),
            column(&|row| (Tone::Dim, format!("last {}", second(rows[row].last_at)))).weight(1),
            column(&|row| (Tone::Dim, rows[row].last_id.to_string())).weight(2),
        ],
    )
}
