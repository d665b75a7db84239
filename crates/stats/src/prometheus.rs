//! Exports the counts in Prometheus's text format, version 0.0.4, as its textfile collector reads
//! it.

use std::fmt::Write;

use crate::histogram::Histogram;
use crate::runs::RunTally;
use crate::tally::{HostTally, Tally};

/// Every label of a verdict: a series that exists from the start can be compared.
const VERDICTS: [&str; 5] = ["allow", "ask", "capped", "deny", "none"];

/// A number per hook, as a counter.
type HookCounter = (&'static str, &'static str, fn(&RunTally) -> u64);

const HOOK_COUNTERS: [HookCounter; 10] = [
    ("runs", "Runs of a hook.", |hook| hook.runs),
    ("blocks", "Events that a hook blocked.", |hook| hook.blocks),
    ("asks", "Events for which a hook asked for approval.", |hook| hook.asks),
    ("allows", "Events that a hook allowed.", |hook| hook.allows),
    ("input_changes", "Inputs that a hook changed.", |hook| hook.input_changes),
    ("failures", "Runs in which a hook failed.", |hook| hook.failures),
    ("timeouts", "Runs in which a hook timed out.", |hook| hook.timeouts),
    ("capped", "Stops let through although a hook blocked them.", |hook| hook.capped),
    ("shadow_runs", "Runs of a hook in shadow mode.", |hook| hook.shadow.runs),
    ("shadow_blocks", "Events that a hook in shadow mode would have blocked.", |hook| {
        hook.shadow.would_block
    }),
];

/// A number per host, as a counter.
type HostCounter = (&'static str, &'static str, fn(&HostTally) -> u64);

const HOST_COUNTERS: [HostCounter; 7] = [
    ("anyhook_events_total", "Events received.", |host| host.events),
    ("anyhook_denials_total", "Events denied.", |host| host.denials),
    ("anyhook_sessions_total", "Sessions.", HostTally::sessions),
    ("anyhook_capped_stops_total", "Stops let through after too many blocks.", |host| host.capped),
    ("anyhook_denied_but_ran_total", "Calls that ran despite being denied.", |host| {
        host.denied_but_ran
    }),
    ("anyhook_failed_runs_total", "Runs of hooks that failed.", |host| host.failed_runs),
    ("anyhook_redacted_records_total", "Records with redacted secrets.", |host| host.redacted),
];

/// Returns the counts of all hooks, or only of those named.
pub fn text(tally: &Tally, hooks: &[String]) -> String {
    let mut page = Exposition { text: String::new() };
    page.family("anyhook_journal_records_total", "counter", "Records in the journal.");
    page.sample("anyhook_journal_records_total", &[], &tally.records.to_string());
    page.family(
        "anyhook_journal_damaged_lines",
        "gauge",
        "Lines in the journal that are not valid records.",
    );
    page.sample("anyhook_journal_damaged_lines", &[], &tally.damaged.to_string());
    let hosts: Vec<(&str, &HostTally)> =
        tally.hosts.iter().map(|(name, host)| (name.as_str(), host)).collect();
    if !hosts.is_empty() {
        write_hosts(&mut page, &hosts);
    }
    let runs: Vec<(&str, &str, &RunTally)> = tally
        .hooks
        .iter()
        .filter(|(hook, _)| hooks.is_empty() || hooks.contains(hook))
        .flat_map(|(hook, at)| at.iter().map(|(host, runs)| (hook.as_str(), host.as_str(), runs)))
        .collect();
    if !runs.is_empty() {
        write_hooks(&mut page, &runs);
    }
    page.text
}

fn write_hosts(page: &mut Exposition, hosts: &[(&str, &HostTally)]) {
    for (name, help, number) in HOST_COUNTERS {
        page.family(name, "counter", help);
        for (host, tally) in hosts {
            page.sample(name, &[("host", host)], &number(tally).to_string());
        }
    }
    page.family("anyhook_verdicts_total", "counter", "Verdicts by effect.");
    for (host, tally) in hosts {
        for word in VERDICTS {
            let count = tally.verdicts.get(word).copied().unwrap_or(0);
            let labels = [("host", *host), ("verdict", word)];
            page.sample("anyhook_verdicts_total", &labels, &count.to_string());
        }
    }
    if hosts.iter().any(|(_, tally)| !tally.lost.is_empty()) {
        let help = "Parts of verdicts that a host could not receive.";
        page.family("anyhook_lost_total", "counter", help);
        for (host, tally) in hosts {
            for (what, count) in &tally.lost {
                let labels = [("host", *host), ("what", what.as_str())];
                page.sample("anyhook_lost_total", &labels, &count.to_string());
            }
        }
    }
    let name = "anyhook_dispatch_duration_seconds";
    page.family(name, "histogram", "How long a host waited for an answer.");
    for (host, tally) in hosts {
        page.histogram(name, &[("host", host)], &tally.times);
    }
}

fn write_hooks(page: &mut Exposition, runs: &[(&str, &str, &RunTally)]) {
    for (word, help, number) in HOOK_COUNTERS {
        let name = format!("anyhook_hook_{word}_total");
        page.family(&name, "counter", help);
        for (hook, host, tally) in runs {
            let labels = [("hook", *hook), ("host", *host)];
            page.sample(&name, &labels, &number(tally).to_string());
        }
    }
    let name = "anyhook_hook_last_run_timestamp_seconds";
    page.family(name, "gauge", "When a hook last ran.");
    for (hook, host, tally) in runs {
        if let Some(last) = tally.last {
            let labels = [("hook", *hook), ("host", *host)];
            page.sample(name, &labels, &last.as_second().to_string());
        }
    }
    let name = "anyhook_hook_duration_seconds";
    page.family(name, "histogram", "How long a hook's runs took.");
    for (hook, host, tally) in runs {
        page.histogram(name, &[("hook", hook), ("host", host)], &tally.times);
    }
}

/// A page in the text format.
struct Exposition {
    text: String,
}

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        self.text.push_str(name);
        if !labels.is_empty() {
            let labels: Vec<String> = labels
                .iter()
                .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
                .collect();
            let _ = write!(self.text, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(self.text, " {value}");
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], times: &Histogram) {
        let bucket = format!("{name}_bucket");
        let count = times.count().to_string();
        let with = |bound: &str, page: &mut Self, count: &str| {
            let labels: Vec<(&str, &str)> =
                labels.iter().copied().chain(std::iter::once(("le", bound))).collect();
            page.sample(&bucket, &labels, count);
        };
        for (bound, count) in times.cumulative() {
            with(&seconds(bound), self, &count.to_string());
        }
        with("+Inf", self, &count);
        self.sample(&format!("{name}_sum"), labels, &seconds(times.sum_us()));
        self.sample(&format!("{name}_count"), labels, &count);
    }
}

/// Returns seconds, without rounding.
fn seconds(microseconds: u64) -> String {
    let text = format!("{}.{:06}", microseconds / 1_000_000, microseconds % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Escapes a label's value.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_to_the_digit() {
        for (microseconds, expected) in
            [(0, "0"), (1, "0.000001"), (2_500, "0.0025"), (10_000_000, "10"), (90_100_000, "90.1")]
        {
            assert_eq!(seconds(microseconds), expected);
        }
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), r#"a\"b\\c\nd"#);
    }
}
