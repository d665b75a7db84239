//! The overview page: a table of hooks, a table of hosts, and what needs attention.

use std::io;

use anyhook_hosts::bus_event::OURS;
use anyhook_model::report::StatsReport;
use anyhook_model::report::stats::{HookStats, RunStats, TimeStats};
use anyhook_terminal::format::{apart, many, minute, second, span, thousands};
use anyhook_terminal::sparkline::{bar, sparkline};
use anyhook_terminal::{Column, Page, Tone};

use super::shadow::{shadow_line, show_more, show_shadow_blocks};

/// How wide bars and sparklines are.
const BAR: usize = 8;
const SPARKLINE: usize = 14;
/// How many agents and pipelines are shown with the times their decisions waited.
const WAITING: usize = 5;

/// Shows the whole overview.
pub fn show(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    show_header(report, page)?;
    show_denied_but_ran(report, page)?;
    show_hooks(report, page)?;
    show_hosts(report, page)?;
    show_waiting(report, page)?;
    show_slowest(report, page)?;
    show_shadow(report, page)?;
    show_always_failing(report, page)?;
    show_never_fired(report, page)?;
    show_journal(report, page)
}

/// Shows the period and the number of records in it.
pub(super) fn show_header(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    let since = report.reaches_back_to.or(report.since).unwrap_or(report.until);
    let hosts = report.hosts.iter().map(|host| host.host.as_str());
    let hosts: Vec<&str> = hosts.filter(|host| *host != OURS).collect();
    let hosts = if hosts.is_empty() { String::new() } else { format!(" · {}", hosts.join(", ")) };
    page.line(&[
        (Tone::Strong, &apart(since, report.until)),
        (Tone::Dim, &format!(" to {}", minute(report.until))),
        (Tone::Plain, &format!(" · {}", many(report.records, "record"))),
        (Tone::Plain, &format!(" · {}", many(report.sessions, "session"))),
        (Tone::Dim, &hosts),
    ])
}

/// What kind of thing decisions are about, its name, and how long they waited.
type WaitingRow<'report> = (&'report str, &'report str, &'report TimeStats);

/// Shows how long decisions waited for a person, by agent and pipeline.
fn show_waiting(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    let Some(waiting) = &report.waiting else { return Ok(()) };
    page.gap()?;
    let agents = waiting.agents.iter().take(WAITING).map(|one| ("agent", one));
    let pipelines = waiting.pipelines.iter().take(WAITING).map(|one| ("pipeline", one));
    let rows: Vec<WaitingRow<'_>> = std::iter::once(("", "all", &waiting.all))
        .chain(agents.chain(pipelines).map(|(kind, one)| (kind, one.name.as_str(), &one.time)))
        .collect();
    let column = |title: &str, cell: &dyn Fn(&WaitingRow<'_>) -> (Tone, String)| {
        Column::new(title, rows.iter().map(cell).collect::<Vec<_>>().into_iter())
    };
    page.table(
        0,
        vec![
            column("decisions", &|row| (Tone::Strong, row.1.to_owned())).least(20),
            column("of", &|row| (Tone::Dim, row.0.to_owned())).weight(1),
            column("count", &|row| (Tone::Plain, thousands(row.2.count))).right(),
            column("waited (median)", &|row| (Tone::Plain, span(row.2.p50_us))).right(),
            column("longest", &|row| (Tone::Plain, span(row.2.max_us))).right(),
        ],
    )
}

fn show_denied_but_ran(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    let rows = &report.denied_but_ran_last;
    if report.denied_but_ran == 0 {
        return Ok(());
    }
    page.gap()?;
    let title = format!("{} denied but ran", many(report.denied_but_ran, "call"));
    page.line(&[(Tone::Bad, &title)])?;
    let column = |text: &dyn Fn(usize) -> (Tone, String)| {
        Column::new("", (0..rows.len()).map(text).collect::<Vec<_>>().into_iter())
    };
    page.table(
        2,
        vec![
            column(&|row| (Tone::Dim, second(rows[row].at))).weight(1),
            column(&|row| (Tone::Plain, rows[row].id.to_string())),
            column(&|row| (Tone::Dim, rows[row].host.clone())).weight(3).least(4),
            column(&|row| (Tone::Plain, rows[row].about.clone())).least(20),
            column(&|row| (Tone::Dim, format!("denied by {}", rows[row].denied_by))).weight(2),
        ],
    )?;
    show_more(report.denied_but_ran, rows.len(), 2, page)
}

fn show_hooks(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    if report.hooks.is_empty() {
        return Ok(());
    }
    page.gap()?;
    let name = |hook: &HookStats| match &hook.shadow {
        Some(shadow) if shadow.runs == hook.all.runs => format!("{} (shadow)", hook.hook),
        _ => hook.hook.clone(),
    };
    let rows: Vec<(String, &RunStats)> =
        report.hooks.iter().map(|hook| (name(hook), &hook.all)).collect();
    let columns = run_columns("hook", &rows, report);
    page.table(0, columns)
}

/// Returns the columns of a table of hooks, or of one hook's hosts.
pub(super) fn run_columns(
    title: &str,
    rows: &[(String, &RunStats)],
    report: &StatsReport,
) -> Vec<Column> {
    let most = rows.iter().map(|(_, stats)| stats.runs).max().unwrap_or(0);
    let per_step =
        report.steps.as_ref().map(|steps| format!("per {}", steps.unit)).unwrap_or_default();
    let column = |title: &str, cell: &dyn Fn(&RunStats) -> (Tone, String)| {
        let cells: Vec<(Tone, String)> = rows.iter().map(|(_, stats)| cell(stats)).collect();
        Column::new(title, cells.into_iter())
    };
    let number = |title: &str, tone: Tone, number: fn(&RunStats) -> u64| {
        column(title, &|stats| (tone, unless_zero(number(stats)))).right()
    };
    let time = |title: &str, tone: Tone, time: fn(&RunStats) -> Option<u64>| {
        column(title, &|stats| (tone, time(stats).map(span).unwrap_or_default())).right()
    };
    let names: Vec<(Tone, String)> =
        rows.iter().map(|(name, _)| (Tone::Strong, name.clone())).collect();
    let blocks_line = |stats: &RunStats| match stats.blocks {
        0 => String::new(),
        _ => sparkline(&stats.blocks_per_step, SPARKLINE),
    };
    let last = |stats: &RunStats| stats.last_run.map(minute).unwrap_or_default();
    vec![
        Column::new(title, names.into_iter()).least(20),
        column("runs", &|stats| (Tone::Plain, thousands(stats.runs))).right(),
        column("", &|stats| (Tone::Hint, bar(stats.runs, most, BAR))).weight(12),
        column(&per_step, &|stats| (Tone::Hint, sparkline(&stats.runs_per_step, SPARKLINE)))
            .weight(17),
        number("blocks", Tone::Bad, |stats| stats.blocks).weight(20),
        column("", &|stats| (Tone::Bad, blocks_line(stats))).weight(14),
        number("asks", Tone::Warn, |stats| stats.asks).weight(16),
        number("allows", Tone::Good, |stats| stats.allows).weight(6),
        number("changes", Tone::Plain, |stats| stats.input_changes).weight(7),
        number("failed", Tone::Warn, |stats| stats.failures).weight(19),
        number("timeouts", Tone::Warn, |stats| stats.timeouts).weight(8),
        number("unfinished", Tone::Dim, |stats| stats.unfinished).weight(5),
        time("p50", Tone::Plain, |stats| Some(stats.time.as_ref()?.p50_us)).weight(15),
        time("p95", Tone::Plain, |stats| Some(stats.time.as_ref()?.p95_us)).weight(18),
        time("p99", Tone::Plain, |stats| Some(stats.time.as_ref()?.p99_us)).weight(11),
        time("total", Tone::Dim, |stats| Some(stats.time.as_ref()?.total_us)).weight(10),
        time("per session", Tone::Dim, |stats| stats.per_session_us).weight(13),
        column("last run", &|stats| (Tone::Dim, last(stats))).weight(9),
    ]
}

/// Returns the name of a host; `anyhook` itself stands for events of the daemon and of commands,
/// not of an agent.
fn host_name(host: &str) -> String {
    if host == OURS { "(anyhook itself)".to_owned() } else { host.to_owned() }
}

fn unless_zero(number: u64) -> String {
    if number == 0 { String::new() } else { thousands(number) }
}

fn show_hosts(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    let rows = &report.hosts;
    if rows.is_empty() {
        return Ok(());
    }
    page.gap()?;
    let most = rows.iter().map(|host| host.events).max().unwrap_or(0);
    let column = |title: &str, cell: &dyn Fn(usize) -> (Tone, String)| {
        Column::new(title, (0..rows.len()).map(cell).collect::<Vec<_>>().into_iter())
    };
    let number = |title: &str, tone: Tone, number: &dyn Fn(usize) -> u64| {
        column(title, &|row| (tone, unless_zero(number(row)))).right()
    };
    let time = |title: &str, time: &dyn Fn(usize) -> Option<u64>| {
        column(title, &|row| (Tone::Plain, time(row).map(span).unwrap_or_default())).right()
    };
    page.table(
        0,
        vec![
            column("host", &|row| (Tone::Strong, host_name(&rows[row].host))).least(12),
            column("events", &|row| (Tone::Plain, thousands(rows[row].events))).right(),
            column("", &|row| (Tone::Hint, bar(rows[row].events, most, BAR))).weight(6),
            number("denied", Tone::Bad, &|row| rows[row].denials).weight(12),
            number("asked", Tone::Warn, &|row| rows[row].asks).weight(8),
            number("failed", Tone::Warn, &|row| rows[row].failed_runs).weight(11),
            time("p50", &|row| Some(rows[row].time.as_ref()?.p50_us)).weight(7),
            time("p95", &|row| Some(rows[row].time.as_ref()?.p95_us)).weight(10),
            time("p99", &|row| Some(rows[row].time.as_ref()?.p99_us)).weight(5),
            number("sessions", Tone::Dim, &|row| rows[row].sessions).weight(4),
            time("per session", &|row| rows[row].session_median_us).weight(9),
            time("max", &|row| rows[row].session_max_us).weight(3),
        ],
    )
}

fn show_slowest(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    let find = |name: &String| report.hooks.iter().find(|hook| hook.hook == *name);
    let rows: Vec<(&HookStats, u64)> = report
        .slowest
        .iter()
        .filter_map(find)
        .filter_map(|hook| Some((hook, hook.all.time.as_ref()?.p95_us)))
        .collect();
    // With one or two, the table says it all.
    if rows.len() < 3 {
        return Ok(());
    }
    page.heading("slowest hooks, by p95")?;
    let most = rows.iter().map(|(_, p95)| *p95).max().unwrap_or(0);
    let column = |cell: &dyn Fn(&HookStats, u64) -> (Tone, String)| {
        let cells: Vec<_> = rows.iter().map(|(hook, p95)| cell(hook, *p95)).collect();
        Column::new("", cells.into_iter())
    };
    page.table(
        2,
        vec![
            column(&|hook, _| (Tone::Plain, hook.hook.clone())).least(16),
            column(&|_, p95| (Tone::Plain, span(p95))).right(),
            column(&|_, p95| (Tone::Warn, bar(p95, most, BAR * 3))).weight(1),
        ],
    )
}

fn show_shadow(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    let watched: Vec<_> =
        report.hooks.iter().filter_map(|hook| Some((hook, hook.shadow.as_ref()?))).collect();
    if watched.is_empty() {
        return Ok(());
    }
    page.heading("shadow hooks")?;
    for (hook, shadow) in watched {
        page.line(&[
            (Tone::Plain, "  "),
            (Tone::Strong, &hook.hook),
            (Tone::Plain, "  "),
            (Tone::Warn, &shadow_line(shadow)),
        ])?;
        show_shadow_blocks(shadow, page)?;
    }
    Ok(())
}

fn show_always_failing(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    if report.always_failing.is_empty() {
        return Ok(());
    }
    page.heading("always failing")?;
    for hook in report.hooks.iter().filter(|hook| report.always_failing.contains(&hook.hook)) {
        let why = hook.failure_messages.first().map_or("", |group| group.message.as_str());
        page.line(&[
            (Tone::Plain, "  "),
            (Tone::Strong, &hook.hook),
            (Tone::Bad, &format!("  {}", many(hook.all.runs, "run"))),
            (Tone::Plain, &format!("  {why}")),
        ])?;
    }
    Ok(())
}

/// Shows the hooks that never ran.
pub(super) fn show_never_fired(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    let rows = &report.never_fired;
    if rows.is_empty() {
        return Ok(());
    }
    page.heading("never fired")?;
    let column = |cell: &dyn Fn(usize) -> (Tone, String)| {
        Column::new("", (0..rows.len()).map(cell).collect::<Vec<_>>().into_iter())
    };
    page.table(
        2,
        vec![
            column(&|row| (Tone::Strong, rows[row].hook.clone())).least(20),
            column(&|row| (Tone::Dim, rows[row].trigger.join(", "))).weight(1).least(12),
            column(&|row| (Tone::Warn, rows[row].why.clone().unwrap_or_default()))
                .weight(2)
                .least(12),
        ],
    )?;
    if let Some(oldest) = report.reaches_back_to {
        let reach = apart(oldest, report.until);
        page.line(&[(Tone::Dim, &format!("  (the journal starts {reach} ago)"))])?;
    }
    Ok(())
}

/// Shows what concerns the journal and the replies to hosts, a line each.
fn show_journal(report: &StatsReport, page: &mut Page<'_>) -> io::Result<()> {
    let mut lines: Vec<(Tone, &str, String)> = Vec::new();
    if report.capped_stops > 0 {
        let gates: Vec<&str> = report
            .hooks
            .iter()
            .filter(|hook| hook.all.capped > 0)
            .map(|hook| hook.hook.as_str())
            .collect();
        let stops = many(report.capped_stops, "stop");
        let text = format!("{stops} let through after too many blocks by {}", gates.join(", "));
        lines.push((Tone::Warn, "capped", text));
    }
    for host in report.hosts.iter().filter(|host| !host.lost.is_empty()) {
        let parts: Vec<String> = host
            .lost
            .iter()
            .map(|part| format!("{} ({})", part.what, thousands(part.count)))
            .collect();
        let text = format!("{} could not receive {}", host.host, parts.join(", "));
        lines.push((Tone::Warn, "lost", text));
    }
    if report.redacted_records > 0 {
        let records = many(report.redacted_records, "record");
        lines.push((Tone::Plain, "secrets", format!("redacted in {records}")));
    }
    if report.damaged_lines > 0 {
        let text = format!("{} in the journal skipped", many(report.damaged_lines, "line"));
        lines.push((Tone::Warn, "damaged", text));
    }
    if lines.is_empty() {
        return Ok(());
    }
    page.gap()?;
    for (tone, name, text) in lines {
        page.line(&[(tone, &format!("{name:<8} ")), (Tone::Plain, &text)])?;
    }
    Ok(())
}
