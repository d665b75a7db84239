//! The report as tables, for a terminal and for the documents.

use self::Column::{Number, Text};
use super::goals::{Goal, GoalOutcome};
use super::instructions::grouped;
use super::memory::Peak;
use super::report::{BenchReport, ReportRow};

/// Prints all of it, the goals last.
pub fn print(report: &BenchReport) {
    println!("\n{}\n", summary(report));
    println!("{}", times(&report.times));
    println!("{}", memory(&report.memory));
    if !report.stations.is_empty() {
        println!("{}", super::path_phases::table(&report.stations));
    }
    for line in &report.left_out {
        println!("left out: {line}");
    }
    println!("\n{}", goals(&report.goals));
    let count = |wanted| report.goals.iter().filter(|goal| goal.outcome == wanted).count();
    println!(
        "goals: {} pass, {} FAIL, {} not measured",
        count(GoalOutcome::Pass),
        count(GoalOutcome::Fail),
        count(GoalOutcome::NotMeasured)
    );
}

/// Returns the date, the machine and the program.
pub fn summary(report: &BenchReport) -> String {
    let machine = &report.machine;
    format!(
        "{}, {} ({} {}), {}; the program: {}, {:.1} MB",
        report.date,
        machine.processor,
        machine.cores,
        if machine.cores == 1 { "core" } else { "cores" },
        machine.kernel,
        report.build,
        megabytes(report.program_bytes)
    )
}

/// The times.
pub fn times(rows: &[ReportRow]) -> String {
    let head = [
        Text("what"),
        Number("turns"),
        Number("median µs"),
        Number("p95 µs"),
        Number("× no-op"),
        Number("× /bin/true"),
    ];
    let cells = rows.iter().map(|row| {
        vec![
            row.name.clone(),
            row.turns.to_string(),
            whole(row.median_us),
            whole(row.p95_us),
            format!("{:.2}", row.times_limit),
            format!("{:.2}", row.times_true),
        ]
    });
    columns(&head, &cells.collect::<Vec<_>>())
}

/// Returns the table of peak memory.
pub fn memory(peaks: &[Peak]) -> String {
    let cells = peaks.iter().map(|peak| {
        let event = megabytes(peak.event_bytes);
        let most = megabytes(peak.bytes);
        let times = if event < 1.0 { String::new() } else { format!("{:.2}", most / event) };
        vec![peak.name.clone(), format!("{most:.2}"), times, peak.page_faults.to_string()]
    });
    let head = [Text("what"), Number("peak MB"), Number("× the event"), Number("page faults")];
    columns(&head, &cells.collect::<Vec<_>>())
}

/// The goals, and whether each is reached.
pub fn goals(goals: &[Goal]) -> String {
    let cells = goals.iter().map(|goal| {
        vec![
            goal.what.clone(),
            goal.measured.map_or_else(|| "–".to_owned(), number),
            limit(goal),
            goal.unit.clone(),
            word(goal.outcome).to_owned(),
        ]
    });
    let head = [Text("goal"), Number("measured"), Number("wanted"), Text("unit"), Text("")];
    columns(&head, &cells.collect::<Vec<_>>())
}

/// The goal with its sign.
pub fn limit(goal: &Goal) -> String {
    format!("{} {}", if goal.at_least { "≥" } else { "≤" }, number(goal.wanted))
}

/// An outcome in a word.
pub fn word(outcome: GoalOutcome) -> &'static str {
    match outcome {
        GoalOutcome::Pass => "pass",
        GoalOutcome::Fail => "**FAIL**",
        GoalOutcome::NotMeasured => "not measured",
    }
}

/// Returns a number with as many decimals as are significant.
pub fn number(number: f64) -> String {
    if number.abs() >= 1000.0 { whole(number) } else { format!("{number:.2}") }
}

#[expect(clippy::cast_possible_truncation, reason = "it is rounded")]
#[expect(clippy::cast_sign_loss, reason = "nothing here is negative")]
fn whole(number: f64) -> String {
    grouped(number.round() as u64)
}

#[expect(clippy::cast_precision_loss, reason = "no file is that large")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// The heading of a column, and its content: numbers are aligned to the right.
#[derive(Clone, Copy)]
enum Column {
    Text(&'static str),
    Number(&'static str),
}

impl Column {
    fn head(self) -> &'static str {
        match self {
            Text(head) | Number(head) => head,
        }
    }
}

/// A table whose columns are as wide as they need to be.
fn columns(head: &[Column], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].head().chars().count()]).max().unwrap_or(0)
    };
    let line = |cells: &[String]| {
        let mut line = "|".to_owned();
        for (index, cell) in cells.iter().enumerate() {
            let width = width(index);
            line.push_str(&match head[index] {
                Text(_) => format!(" {cell:<width$} |"),
                Number(_) => format!(" {cell:>width$} |"),
            });
        }
        line.push('\n');
        line
    };
    let mut table = line(&head.iter().map(|column| column.head().to_owned()).collect::<Vec<_>>());
    table.push('|');
    for column in head {
        table.push_str(if matches!(column, Text(_)) { "---|" } else { "--:|" });
    }
    table.push('\n');
    for row in rows {
        table.push_str(&line(row));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::report::example;
    use super::*;

    #[test]
    fn the_times_are_a_table() {
        assert_eq!(
            times(&example().times),
            "\
| what                            | turns | median µs |  p95 µs | × no-op | × /bin/true |
|---|--:|--:|--:|--:|--:|
| a static no-op                  |  1000 |       138 |     207 |    1.00 |        0.20 |
| /bin/true                       |  1000 |       690 |   1,035 |    5.00 |        1.00 |
| anyhook, 10 hooks, none matches |  1000 |       207 |     311 |    1.50 |        0.30 |
| a Node hook                     |  1000 |    69,000 | 103,500 |  500.00 |      100.00 |
"
        );
    }

    #[test]
    fn a_missed_goal_is_loud() {
        assert_eq!(
            goals(&example().goals),
            "\
| goal      | measured | wanted | unit        |              |
|---|--:|--:|---|---|
| 10 hooks  |     0.30 | ≤ 0.50 | × /bin/true | pass         |
| 100 hooks |     1.25 | ≤ 0.50 | × /bin/true | **FAIL**     |
| the index |        – | ≤ 0.50 | × /bin/true | not measured |
"
        );
    }

    #[test]
    fn memory_is_compared_with_an_event_that_is_large() {
        let peak =
            |event_bytes, bytes| Peak { name: "a".to_owned(), event_bytes, bytes, page_faults: 40 };
        let text = memory(&[peak(1024, 2_500_000), peak(10_000_000, 40_000_000)]);
        assert!(text.contains("| a    |    2.50 |             |          40 |\n"), "{text}");
        assert!(text.contains("| a    |   40.00 |        4.00 |          40 |\n"), "{text}");
    }

    #[test]
    fn the_summary_names_machine_and_build() {
        assert_eq!(
            summary(&example()),
            "2026-01-01, A <fast> one (2 cores), Linux 6.1; the program: profile dist, 5.0 MB"
        );
    }
}
