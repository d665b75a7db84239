//! The report as a picture: a bar for each row on a logarithmic scale, and the goals below.
//!
//! Plain SVG, with the viewer's fonts, in light and in dark mode.

use std::fmt::Write as _;

use super::goals::{Goal, GoalOutcome};
use super::measure::RowKind;
use super::report::{BenchReport, ReportRow};
use super::{contenders, table};

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 32.0;
/// The x positions where the bars start and where the scale ends.
const LEFT: f64 = 320.0;
const RIGHT: f64 = 740.0;
/// The x positions where the columns of figures end.
const MEDIAN: f64 = 840.0;
const MULTIPLE: f64 = 928.0;
/// The x position of a goal's outcome.
const VERDICT: f64 = 800.0;
const TOP: f64 = 112.0;
const BAR: f64 = 16.0;
const LINE: f64 = 24.0;
const HEADING: f64 = 34.0;
/// The left end of the scale, in microseconds.
const LEAST: f64 = 100.0;

const STYLE: &str = "\
    text { font-family: ui-sans-serif, system-ui, \"Segoe UI\", \"DejaVu Sans\", Arial, sans-serif; font-size: 13px; fill: #1e293b; }
    .title { font-size: 22px; font-weight: 700; }
    .part { font-size: 14px; font-weight: 700; }
    .soft { fill: #64748b; }
    .small { font-size: 11px; }
    .end { text-anchor: end; }
    .middle { text-anchor: middle; }
    .paper { fill: #ffffff; }
    .grid { stroke: #e2e8f0; stroke-width: 1; }
    .mark { stroke: #dc2626; stroke-width: 1.5; stroke-dasharray: 5 4; }
    .mark-word, .fail { fill: #dc2626; }
    .fail { font-weight: 700; }
    .pass { fill: #15803d; }
    .yardstick { fill: #94a3b8; }
    .anyhook { fill: #2563eb; }
    .peer { fill: #d97706; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e2e8f0; }
      .soft { fill: #94a3b8; }
      .paper { fill: #0f172a; }
      .grid { stroke: #253248; }
      .mark { stroke: #f87171; }
      .mark-word, .fail { fill: #f87171; }
      .pass { fill: #4ade80; }
      .yardstick { fill: #64748b; }
      .anyhook { fill: #60a5fa; }
      .peer { fill: #fbbf24; }
    }
";

/// Draws the picture.
pub fn draw(report: &BenchReport) -> String {
    let scale = Scale::of(&report.times);
    let mut body = String::new();
    let mut y = TOP;
    for (kind, title) in [
        (RowKind::Yardstick, "yardsticks"),
        (RowKind::Anyhook, "anyhook hook"),
        (RowKind::Peer, "what else there is"),
    ] {
        let rows: Vec<_> = report.times.iter().filter(|row| row.kind == kind).collect();
        if rows.is_empty() {
            continue;
        }
        y += HEADING;
        text(&mut body, "part", MARGIN, y - 10.0, title);
        for row in rows {
            bar(&mut body, &scale, row, y);
            y += LINE;
        }
    }
    let bottom = y;
    let mut page = String::new();
    grid(&mut page, &scale, bottom);
    if let Some(row) = report.times.iter().find(|row| row.name == contenders::TRUE) {
        mark(&mut page, scale.at(row.median_us), bottom);
    }
    page.push_str(&body);
    let height = goals(&mut page, &report.goals, bottom + 30.0) + 24.0;
    frame(report, &page, height)
}

/// Maps microseconds to x positions.
struct Scale {
    decades: f64,
}

impl Scale {
    /// As many powers of ten as the rows need.
    fn of(rows: &[ReportRow]) -> Self {
        let most = rows.iter().map(|row| row.median_us).fold(LEAST * 10.0, f64::max);
        Self { decades: (most / LEAST).log10().ceil() }
    }

    fn at(&self, microseconds: f64) -> f64 {
        let share = (microseconds / LEAST).max(1.0).log10() / self.decades;
        LEFT + share.min(1.0) * (RIGHT - LEFT)
    }
}

fn bar(body: &mut String, scale: &Scale, row: &ReportRow, y: f64) {
    let name = row.name.strip_prefix("anyhook, ").unwrap_or(&row.name);
    let class = match row.kind {
        RowKind::Yardstick => "yardstick",
        RowKind::Anyhook => "anyhook",
        RowKind::Peer => "peer",
    };
    let middle = y + BAR / 2.0 + 4.5;
    text(body, "end", LEFT - 10.0, middle, name);
    // A row below the start of the scale must still be visible.
    let width = (scale.at(row.median_us) - LEFT).max(2.0);
    let _ = writeln!(
        body,
        "  <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" \
         rx=\"2\"/>"
    );
    text(body, "end", MEDIAN, middle, &milliseconds(row.median_us));
    text(body, "end", MULTIPLE, middle, &multiple(row.times_true));
}

/// A line at each power of ten, with its time.
fn grid(page: &mut String, scale: &Scale, bottom: f64) {
    let mut time = LEAST;
    while time <= LEAST * 10_f64.powf(scale.decades) * 1.01 {
        let x = scale.at(time);
        let _ = writeln!(
            page,
            "  <line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>"
        );
        text(page, "soft small middle", x, TOP - 8.0, &format!("{} ms", time / 1e3));
        time *= 10.0;
    }
    text(page, "soft small end", MEDIAN, TOP - 8.0, "median");
    text(page, "soft small end", MULTIPLE, TOP - 8.0, "× /bin/true");
}

/// Marks `/bin/true`.
fn mark(page: &mut String, x: f64, bottom: f64) {
    let _ = writeln!(
        page,
        "  <line class=\"mark\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>"
    );
    text(page, "mark-word small", x + 6.0, TOP + 14.0, contenders::TRUE);
}

/// Draws the table of goals; returns where it ends.
fn goals(page: &mut String, goals: &[Goal], top: f64) -> f64 {
    let mut y = top;
    text(page, "part", MARGIN, y, "goals");
    for goal in goals {
        y += LINE - 2.0;
        let (class, word) = match goal.outcome {
            GoalOutcome::Pass => ("pass", "✓ pass"),
            GoalOutcome::Fail => ("fail", "✗ FAIL"),
            GoalOutcome::NotMeasured => ("soft", "– not measured"),
        };
        text(page, "", MARGIN, y, &goal.what);
        let measured = goal.measured.map_or_else(|| "–".to_owned(), table::number);
        text(page, "end", 510.0, y, &measured);
        text(page, "soft", 530.0, y, &format!("{} {}", table::limit(goal), goal.unit));
        text(page, class, VERDICT, y, word);
    }
    y
}

fn frame(report: &BenchReport, page: &str, height: f64) -> String {
    let turns = report.times.iter().map(|row| row.turns).max().unwrap_or(0);
    let machine = &report.machine;
    let below =
        format!("Median of up to {turns} turns in one interleaved run, on a logarithmic scale");
    let where_and_when = format!(
        "{}, {} cores, {}; {}",
        machine.processor, machine.cores, machine.kernel, report.date
    );
    let mut description = String::new();
    for row in &report.times {
        let _ = write!(description, "{}: {}. ", row.name, milliseconds(row.median_us));
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-labelledby=\"performance-title performance-description\">\n  \
         <title id=\"performance-title\">What one hook call costs</title>\n  \
         <desc id=\"performance-description\">{}</desc>\n  <style>\n{STYLE}  </style>\n  \
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        escaped(description.trim_end())
    );
    text(&mut svg, "title", MARGIN, 42.0, "What one hook call costs");
    text(&mut svg, "soft", MARGIN, 64.0, &below);
    text(&mut svg, "soft small", MARGIN, 82.0, &where_and_when);
    svg.push_str(page);
    svg.push_str("</svg>\n");
    svg
}

fn text(page: &mut String, class: &str, x: f64, y: f64, words: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(page, "  <text{class} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(words));
}

/// Returns milliseconds with three significant digits.
fn milliseconds(microseconds: f64) -> String {
    let time = microseconds / 1e3;
    let decimals = if time < 10.0 { 2 } else { usize::from(time < 100.0) };
    format!("{time:.decimals$} ms")
}

/// Returns a multiple with three significant digits.
fn multiple(times: f64) -> String {
    let decimals = if times < 10.0 { 2 } else { usize::from(times < 100.0) };
    format!("{times:.decimals$}")
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::report::example;
    use super::*;

    #[test]
    fn everything_is_in_the_picture() {
        let svg = draw(&example());
        for words in [
            ">/bin/true<",
            ">10 hooks, none matches<",
            ">0.21 ms<",
            ">0.30<",
            ">69.0 ms<",
            ">100<",
            ">✓ pass<",
            ">✗ FAIL<",
            ">– not measured<",
            "A &lt;fast&gt; one, 2 cores, Linux 6.1; 2026-01-01",
        ] {
            assert!(svg.contains(words), "{words} is missing in {svg}");
        }
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }

    #[test]
    fn a_bar_ends_where_its_time_is() {
        let scale = Scale::of(&example().times);
        assert!((scale.decades - 3.0).abs() < 1e-9);
        assert!((scale.at(LEAST) - LEFT).abs() < 1e-9);
        assert!((scale.at(LEAST * 1000.0) - RIGHT).abs() < 1e-9);
        assert!((scale.at(LEAST / 2.0) - LEFT).abs() < 1e-9, "nothing sticks out to the left");
        let third = LEFT + (RIGHT - LEFT) / 3.0;
        assert!((scale.at(LEAST * 10.0) - third).abs() < 1e-9);
    }

    #[test]
    fn times_have_three_digits_at_most() {
        assert_eq!(milliseconds(138.4), "0.14 ms");
        assert_eq!(milliseconds(13_967.0), "14.0 ms");
        assert_eq!(milliseconds(365_000.0), "365 ms");
    }
}
