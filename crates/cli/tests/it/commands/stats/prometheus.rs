//! `anyhook stats --prometheus`: the rules of the text format.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_model::{Decision, Lost};

use super::journals::{add, busy, quiet, record, write};
use crate::environment;

type Labels = BTreeMap<String, String>;

/// One metric of the text format.
#[derive(Debug, Default)]
pub struct Family {
    pub kind: String,
    helps: usize,
    /// Each sample's name, labels and value.
    samples: Vec<(String, Labels, String)>,
}

/// Reads the text format, and fails where it breaks a rule.
pub fn families(text: &str) -> BTreeMap<String, Family> {
    assert!(text.ends_with('\n') && !text.contains("\n\n"), "{text}");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty(), "{line}");
            assert!(!families.contains_key(name), "{name} is not in one piece");
            families.entry(name.to_owned()).or_default().helps += 1;
            name.clone_into(&mut current);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            let family = families.get_mut(name).unwrap();
            assert!(family.kind.is_empty() && family.samples.is_empty(), "{line}");
            kind.clone_into(&mut family.kind);
        } else {
            let family = families.get_mut(&current).unwrap();
            let (name, labels, value) = sample(line);
            let own = match family.kind.as_str() {
                "histogram" => ["_bucket", "_sum", "_count"]
                    .iter()
                    .any(|ending| name == format!("{current}{ending}")),
                _ => name == current,
            };
            assert!(own, "{line} is not of {current}");
            assert_eq!(family.kind == "counter", name.ends_with("_total"), "{line}");
            family.samples.push((name, labels, value));
        }
    }
    for (name, family) in &families {
        assert_eq!(family.helps, 1, "{name}");
        assert!(["counter", "gauge", "histogram"].contains(&family.kind.as_str()), "{name}");
        assert!(!family.samples.is_empty(), "{name}");
        let mut seen = BTreeSet::new();
        for (sample, labels, _) in &family.samples {
            assert!(seen.insert((sample, labels)), "{sample} {labels:?} is there twice");
        }
    }
    families
}

/// Reads `name{label="value",…} number`.
fn sample(line: &str) -> (String, Labels, String) {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = line.find(|letter| !is_name(letter)).unwrap();
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").unwrap();
            assert!(label.chars().all(is_name), "{line}");
            let mut value = String::new();
            let mut letters = after.chars();
            loop {
                match letters.next().unwrap() {
                    '"' => break,
                    '\\' => value.push(match letters.next().unwrap() {
                        'n' => '\n',
                        letter @ ('"' | '\\') => letter,
                        other => panic!("\\{other} is no escape: {line}"),
                    }),
                    letter => value.push(letter),
                }
            }
            assert_eq!(labels.insert(label.to_owned(), value), None, "{line}");
            rest = letters.as_str();
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').unwrap();
    }
    let value = rest.strip_prefix(' ').unwrap();
    assert!(value.parse::<f64>().is_ok(), "{line}");
    (name.to_owned(), labels, value.to_owned())
}

/// Buckets are cumulative, and the last one holds all.
fn check_histogram(name: &str, family: &Family) {
    #[derive(Default)]
    struct Series {
        buckets: Vec<(f64, f64)>,
        sum: f64,
        count: f64,
    }
    let mut series: BTreeMap<Labels, Series> = BTreeMap::new();
    for (sample, labels, value) in &family.samples {
        let value: f64 = value.parse().unwrap();
        let mut labels = labels.clone();
        let bound = labels.remove("le");
        let one = series.entry(labels).or_default();
        match (sample.strip_prefix(name).unwrap(), bound) {
            ("_bucket", Some(bound)) => one.buckets.push((bound.parse().unwrap(), value)),
            ("_sum", None) => one.sum = value,
            ("_count", None) => one.count = value,
            other => panic!("{other:?}"),
        }
    }
    for (labels, Series { buckets, sum, count }) in series {
        assert!(buckets.is_sorted_by(|one, two| one.0 < two.0 && one.1 <= two.1), "{labels:?}");
        assert_eq!(*buckets.last().unwrap(), (f64::INFINITY, count), "{labels:?}");
        assert!(sum >= 0.0 && (count == 0.0) == (sum == 0.0), "{labels:?}: {sum}");
    }
}

#[test]
fn a_week() {
    let environment = busy();
    let ran = environment.run(&["stats", "--prometheus"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let families = families(&ran.stdout);
    for (name, family) in &families {
        assert!(name.starts_with("anyhook_"), "{name}");
        if family.kind == "histogram" {
            check_histogram(name, family);
        }
    }
    let value = |name: &str, wanted: &[(&str, &str)]| {
        let wanted: Labels = wanted
            .iter()
            .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()))
            .collect();
        let found = families[name].samples.iter().find(|(_, labels, _)| *labels == wanted);
        found.unwrap_or_else(|| panic!("{name} {wanted:?}")).2.as_str()
    };
    let guard = [("hook", "guard-shell"), ("host", "opencode")];
    assert_eq!(value("anyhook_hook_blocks_total", &guard), "1");
    assert_eq!(value("anyhook_verdicts_total", &[("host", "opencode"), ("verdict", "deny")]), "2");
    assert_eq!(value("anyhook_denied_but_ran_total", &[("host", "opencode")]), "1");
    assert_eq!(value("anyhook_hook_failures_total", &[("hook", "broken"), ("host", "codex")]), "2");
    assert_eq!(value("anyhook_journal_records_total", &[]), "1406");
    assert_eq!(families["anyhook_hook_duration_seconds"].kind, "histogram");
    assert_eq!(families["anyhook_dispatch_duration_seconds"].kind, "histogram");
}

/// Counters must not shrink: without `--since`, they are of all that is kept.
#[test]
fn the_whole_journal_is_counted() {
    let environment = quiet();
    let count = |arguments: &[&str]| {
        let ran = environment.run(&[&["stats", "--prometheus"][..], arguments].concat());
        families(&ran.stdout)["anyhook_journal_records_total"].samples[0].2.clone()
    };
    assert_eq!(count(&[]), "2");
    assert_eq!(count(&["--since", "2026-03-01T02:00:00Z"]), "1");
    assert_exact!(environment, environment.run(&["stats", "--prometheus"]));
}

#[test]
fn labels_are_escaped() {
    let environment = environment();
    let strange = "a\"b\\c\nd{e},f=";
    let mut one = record(1, 60, "co\"dex", "ls");
    add(&mut one, strange, 1_000, Decision::default());
    one.lost = vec![Lost { what: "line\nbreak".to_owned(), instead: String::new() }];
    write(&environment, vec![one]);
    let families = families(&environment.run(&["stats", "--prometheus"]).stdout);
    let labels = &families["anyhook_hook_runs_total"].samples[0].1;
    assert_eq!((labels["hook"].as_str(), labels["host"].as_str()), (strange, "co\"dex"));
    assert_eq!(families["anyhook_lost_total"].samples[0].1["what"], "line\nbreak");
}
