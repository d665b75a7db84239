//! Findings of tests and reviews, for the agent that is sent back because of them.
//!
//! Findings are copied into the state when the report is submitted: a reviewer has one file for all
//! stages, and the next review replaces it while the reviewed agent still needs the last one.

use anyhook_model::truncate::ellipsized;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum size of the findings of one report in the state, in bytes of JSON. Every hook reads the
/// whole state, and a report may have megabytes.
const KEPT: usize = 16 * 1024;

/// What one report found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// The stage or review that made the report.
    pub source: String,
    /// The report's path, relative to the project.
    pub file: Option<String>,
    /// A one-sentence summary.
    pub summary: Option<String>,
    /// Bugs or findings, as they are in the report.
    pub items: Vec<Value>,
    /// How many more are in the report but not listed here.
    pub omitted: usize,
}

impl Findings {
    /// Takes the findings of a report, as many as the state has room for.
    pub fn new(source: &str, file: Option<&str>, summary: Option<&str>, items: Vec<Value>) -> Self {
        let total = items.len();
        let mut used = 0;
        let mut kept = items;
        kept.retain(|item| {
            let size = item.to_string().len();
            let fits = used + size <= KEPT;
            used += if fits { size } else { 0 };
            fits
        });
        Self {
            source: source.to_owned(),
            file: file.map(str::to_owned),
            summary: summary.filter(|text| !text.is_empty()).map(str::to_owned),
            omitted: total - kept.len(),
            items: kept,
        }
    }

    /// Returns the bugs that one of the stages in `to` has to fix: those that name it, and those
    /// that name none of them.
    pub(super) fn for_stage(&self, stage: &str, to: &[String]) -> Option<Self> {
        let mut mine = self.clone();
        mine.items.retain(|bug| {
            let named = bug.get("stage").and_then(Value::as_str);
            named.is_none_or(|named| named == stage || !to.iter().any(|other| other == named))
        });
        (!mine.items.is_empty() || mine.omitted > 0).then_some(mine)
    }

    /// Returns them as a text of about `room` characters at most. Findings that do not fit in full
    /// are listed by title, those that do not fit at all are counted, and the report is named.
    pub fn text(&self, room: usize) -> String {
        let file = self.file.as_deref().map(|file| format!(" (`{file}`)")).unwrap_or_default();
        let summary =
            self.summary.as_deref().map(|text| format!(": {}", ellipsized(text, room / 4)));
        let mut text = format!("From `{}`{file}{}", self.source, summary.unwrap_or_default());
        let rest = match &self.file {
            Some(file) => format!("read `{file}`"),
            None => "run `anyhook workflow context AGENT --json`".to_owned(),
        };
        let room = room.saturating_sub(rest.len() + 60);
        let mut is_full = false;
        let (mut in_full, mut named) = (0, 0);
        for item in &self.items {
            let whole = whole(item);
            let used = text.chars().count();
            is_full = is_full || used + whole.chars().count() > room;
            if !is_full {
                text.push_str(&whole);
                in_full += 1;
                continue;
            }
            let title = format!("\n- {}", ellipsized(&title(item), 120));
            if used + title.chars().count() <= room {
                text.push_str(&title);
                named += 1;
            }
        }
        let total = self.items.len() + self.omitted;
        if in_full < total {
            let left = total - in_full;
            let listed = if named > 0 { format!(", {named} by title only") } else { String::new() };
            text.push_str(&format!("\n({left} of {total} are not shown in full{listed}: {rest})"));
        }
        text
    }
}

/// Returns the title of a finding: `B1 (p1): the total is wrong`.
fn title(item: &Value) -> String {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let title = match (item, text("title").or_else(|| text("policy"))) {
        (Value::String(text), _) => return text.clone(),
        (_, Some(title)) => title.to_owned(),
        (other, None) => return other.to_string(),
    };
    let grade = text("severity").or_else(|| text("status"));
    let grade = grade.map(|grade| format!("({grade})"));
    let marks: Vec<String> = text("id").map(str::to_owned).into_iter().chain(grade).collect();
    if marks.is_empty() { title } else { format!("{}: {title}", marks.join(" ")) }
}

/// Returns the full text of a finding: its title, then a line for each other member.
fn whole(item: &Value) -> String {
    let mut lines = format!("\n- {}", title(item).replace('\n', "\n  "));
    let has_title = item.get("title").or_else(|| item.get("policy")).is_some();
    let members = item.as_object().filter(|_| has_title);
    let has_severity = item.get("severity").is_some();
    for (name, value) in members.into_iter().flatten() {
        let is_told = matches!(name.as_str(), "id" | "title" | "policy" | "severity")
            || (name == "status" && !has_severity);
        let value = match value {
            _ if is_told => continue,
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let numbered = parts.iter().enumerate().map(|(index, part)| {
                    let part = part.as_str().map_or_else(|| part.to_string(), str::to_owned);
                    format!("{}. {part}", index + 1)
                });
                numbered.collect::<Vec<_>>().join(" ")
            }
            other => other.to_string(),
        };
        let name = name.replace('_', " ");
        lines.push_str(&format!("\n  {name}: {}", value.replace('\n', "\n  ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bug(id: &str, stage: Option<&str>) -> Value {
        json!({
            "id": id, "title": "the total is wrong", "severity": "p1", "stage": stage,
            "steps_to_reproduce": ["add two", "look"], "expected": "4", "actual": "5",
        })
    }

    fn findings(items: Vec<Value>) -> Findings {
        Findings::new("qa_testing", Some("ARTIFACTS/qa.json"), Some("Bugs."), items)
    }

    #[test]
    fn everything_is_told_that_has_room() {
        let told = findings(vec![bug("B1", Some("backend")), json!("a plain text")]).text(2000);
        assert_eq!(
            told,
            "From `qa_testing` (`ARTIFACTS/qa.json`): Bugs.\n\
             - B1 (p1): the total is wrong\n  \
             stage: backend\n  steps to reproduce: 1. add two 2. look\n  \
             expected: 4\n  actual: 5\n\
             - a plain text"
        );
        let finding = json!({
            "title": "no limit", "severity": "high", "location": "src/a.rs:3",
            "recommendation": "set one\nand test it",
        });
        let told = findings(vec![finding, json!({"policy": "privacy", "status": "not_met"})]);
        assert_eq!(
            told.text(2000).lines().skip(1).collect::<Vec<_>>(),
            [
                "- (high): no limit",
                "  location: src/a.rs:3",
                "  recommendation: set one",
                "  and test it",
                "- (not_met): privacy"
            ]
        );
    }

    #[test]
    fn what_has_no_room_is_listed_or_counted_and_the_report_is_named() {
        let bugs: Vec<Value> = (0..40).map(|number| bug(&format!("B{number}"), None)).collect();
        for room in [200, 400, 1000, 2000, 100_000] {
            let text = findings(bugs.clone()).text(room);
            assert!(room < 200 || text.chars().count() <= room, "{room}: {text}");
            let in_full = text.matches("expected: 4").count();
            let titles = text.matches("the total is wrong").count();
            assert!(titles >= in_full, "{text}");
            let left = format!("({} of 40 are not shown in full", 40 - in_full);
            assert_eq!(text.contains(&left), in_full < 40, "{room}: {text}");
            assert_eq!(text.contains("read `ARTIFACTS/qa.json`"), in_full < 40, "{room}: {text}");
        }
    }

    #[test]
    fn the_state_keeps_only_so_much() {
        let long = json!({"id": "B", "title": "x".repeat(KEPT), "severity": "p2"});
        let kept = findings(vec![long, bug("B2", None)]);
        assert_eq!((kept.items.len(), kept.omitted), (1, 1));
        assert!(kept.text(2000).contains("(1 of 2 are not shown in full: read"), "{kept:?}");
    }

    #[test]
    fn a_bug_goes_to_the_stage_it_names_or_to_all() {
        let found = findings(vec![bug("B1", Some("a")), bug("B2", Some("b")), bug("B3", None)]);
        let ids = |stage: &str, to: &[&str]| -> Vec<String> {
            let to: Vec<String> = to.iter().map(|name| (*name).to_owned()).collect();
            let mine = found.for_stage(stage, &to).map(|mine| mine.items).unwrap_or_default();
            mine.iter().map(|bug| bug["id"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(ids("a", &["a", "b"]), ["B1", "B3"]);
        assert_eq!(ids("b", &["a", "b"]), ["B2", "B3"]);
        assert_eq!(ids("c", &["c"]), ["B1", "B2", "B3"], "nobody else is told");
    }
}
