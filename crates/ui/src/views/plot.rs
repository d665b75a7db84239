//! Plots as inline SVG. Each is drawn of shapes only: its words and numbers are text of the page,
//! which is read out, can be copied, and does not shrink with the picture.

use anyhook_model::report::stats::StatsSteps;
use anyhook_terminal::format::{minute, thousands};
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

/// More bars cannot be told apart; steps are then added up.
const BARS: usize = 60;
/// Fewer bars do not need the whole width.
const FEW: usize = 12;
/// The height of the plot, in its own units.
const HEIGHT: u64 = 1000;

/// A series of a plot: its class, its name, and a number for each step.
#[derive(Clone, Copy, Debug)]
pub struct Series<'data> {
    /// The class, which determines its color.
    pub class: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The numbers.
    pub numbers: &'data [u64],
}

/// Bars over time, one upon another; with a table of the same numbers.
pub fn over_time(caption: &str, steps: &StatsSteps, series: &[Series<'_>]) -> Markup {
    let per_bar = steps.count.div_ceil(BARS).max(1);
    let bars = steps.count.div_ceil(per_bar);
    let sum = |numbers: &[u64], bar: usize| -> u64 {
        numbers.iter().skip(bar * per_bar).take(per_bar).sum()
    };
    let total = |bar: usize| series.iter().map(|one| sum(one.numbers, bar)).sum::<u64>();
    let most = (0..bars).map(total).max().unwrap_or(0);
    let unit = match (per_bar, steps.unit.as_str()) {
        (1, unit) => unit.to_owned(),
        (many, unit) => format!("{many} {unit}s"),
    };
    let all: Vec<String> = series
        .iter()
        .map(|one| format!("{} {}", thousands(one.numbers.iter().sum()), one.name))
        .collect();
    let label = format!("{caption}: {}. At most {} per {unit}.", all.join(", "), thousands(most));
    html! {
        figure.plot {
            figcaption { (caption) }
            p.legend {
                @for (one, words) in series.iter().zip(&all) { span.key.(one.class) { (words) } " " }
                span.hint { "at most " (thousands(most)) " per " (unit) }
            }
            div.drawing.few[bars < FEW] {
            svg.bars viewBox={"0 0 " (bars * 10) " " (HEIGHT)} preserveAspectRatio="none" role="img" aria-label=(label) {
                @for bar in 0..bars { (column(bar, most, series, &sum, &when(steps, bar * per_bar))) }
            }
            p.axis { span { (when(steps, 0)) } span { (when(steps, steps.count)) } }
            }
            details {
                summary { "As a table" }
                div.table-wrap tabindex="0" role="region" aria-label=(caption) {
                    table {
                        thead { tr { th scope="col" { "From" } @for one in series { th.number scope="col" { (one.name) } } } }
                        tbody { @for bar in 0..bars {
                            @if total(bar) > 0 {
                                tr { th scope="row" { (when(steps, bar * per_bar)) }
                                    @for one in series { td.number { (thousands(sum(one.numbers, bar))) } } }
                            }
                        } }
                    }
                }
                p.hint { "What is missing is zero." }
            }
        }
    }
}

fn column(
    bar: usize,
    most: u64,
    series: &[Series<'_>],
    sum: &dyn Fn(&[u64], usize) -> u64,
    when: &str,
) -> Markup {
    let mut below = 0;
    let mut parts = Vec::new();
    for one in series {
        let number = sum(one.numbers, bar);
        if number == 0 {
            continue;
        }
        // Nothing that happened is too small to be seen.
        let high = scaled(number, most).max(HEIGHT / 100);
        parts.push((one, number, HEIGHT.saturating_sub(below + high), high));
        below += high;
    }
    html! {
        @for (one, number, y, high) in parts {
            rect class=(one.class) x=(bar * 10 + 1) y=(y) width="8" height=(high) {
                title { (when) ": " (thousands(number)) " " (one.name) }
            }
        }
    }
}

fn scaled(number: u64, most: u64) -> u64 {
    u128::from(number)
        .saturating_mul(u128::from(HEIGHT))
        .checked_div(u128::from(most))
        .and_then(|scaled| u64::try_from(scaled).ok())
        .unwrap_or(0)
}

fn when(steps: &StatsSteps, index: usize) -> String {
    let hours = if steps.unit == "hour" { 1 } else { 24 };
    let hours = i64::try_from(index).unwrap_or(0).saturating_mul(hours);
    let at = steps.start.checked_add(SignedDuration::from_hours(hours)).unwrap_or(Timestamp::MAX);
    if steps.unit == "hour" { minute(at) } else { at.strftime("%Y-%m-%d").to_string() }
}

/// A bar as long as its share, for a row of a table that has the number itself.
pub fn share(class: &str, number: u64, most: u64) -> Markup {
    html! {
        svg.share viewBox={"0 0 " (HEIGHT) " 10"} preserveAspectRatio="none" aria-hidden="true" {
            rect class=(class) width=(scaled(number, most)) height="10" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(count: usize) -> StatsSteps {
        StatsSteps { unit: "hour".to_owned(), start: Timestamp::UNIX_EPOCH, count }
    }

    fn plot(count: usize, denied: &[u64], passed: &[u64]) -> String {
        let series = [
            Series { class: "passed", name: "let through", numbers: passed },
            Series { class: "denied", name: "denied", numbers: denied },
        ];
        over_time("Answers", &steps(count), &series).into_string()
    }

    #[test]
    fn every_number_is_a_bar_and_a_cell() {
        let plot = plot(3, &[0, 1, 2], &[10, 0, 2]);
        assert_eq!(plot.matches("<rect").count(), 4, "{plot}");
        assert!(plot.contains("12 let through"), "{plot}");
        assert!(plot.contains("at most 10 per hour"), "{plot}");
        // The tallest has the whole height; what stands upon another begins where that ends.
        assert!(plot.contains("y=\"0\" width=\"8\" height=\"1000\""), "{plot}");
        assert!(plot.contains("y=\"800\" width=\"8\" height=\"200\""), "{plot}");
        assert!(plot.contains("y=\"600\" width=\"8\" height=\"200\""), "{plot}");
        assert!(!plot.contains("style"), "{plot}");
    }

    #[test]
    fn many_steps_become_few_bars() {
        let numbers = vec![1; 1000];
        let plot = plot(1000, &[], &numbers);
        assert!(plot.matches("<rect").count() <= BARS, "{plot}");
        assert!(plot.contains("17 hours") && plot.contains("1,000 let through"), "{plot}");
    }

    #[test]
    fn nothing_is_no_division() {
        let plot = plot(2, &[0, 0], &[]);
        assert!(!plot.contains("<rect") && plot.contains("at most 0"), "{plot}");
        assert!(share("slow", 1, 0).into_string().contains("width=\"0\""));
        assert!(share("slow", u64::MAX, u64::MAX).into_string().contains("width=\"1000\""));
    }
}
