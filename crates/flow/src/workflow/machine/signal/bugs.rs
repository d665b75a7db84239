//! What the tests say, and who is to mend what they found.

use std::collections::BTreeSet;

use serde_json::Value;

use super::artifacts::Made;
use crate::workflow::definition::StageDefinition;
use crate::workflow::machine::draft::Draft;
use crate::workflow::schemas::Kind;
use crate::workflow::words::{QaVerdict, Severity, StageStatus};

/// Takes the tests' verdict in: what is too bad blocks at once.
pub fn merge_tests(draft: &mut Draft<'_>, stage: &StageDefinition, made: &[Made<'_>]) {
    let definition = draft.definition;
    let Some(rule) = &definition.qa else { return };
    let Some(report) = made.iter().find(|one| one.kind == Some(Kind::QA)) else { return };
    let verdict = report.text("verdict").and_then(QaVerdict::find);
    let bugs = report.value.get("bugs").and_then(Value::as_array);
    let text = |bug: &Value, key: &str| bug.get(key).and_then(Value::as_str).map(str::to_owned);
    let open: Vec<&Value> = bugs
        .into_iter()
        .flatten()
        .filter(|bug| text(bug, "status").is_none_or(|status| status == "open"))
        .collect();
    let blocking: Vec<String> = open
        .iter()
        .filter(|bug| {
            let severity = text(bug, "severity").and_then(|word| Severity::find(&word));
            severity.is_some_and(|severity| rule.blocking.contains(&severity))
        })
        .filter_map(|bug| Some(format!("{} ({})", text(bug, "id")?, text(bug, "severity")?)))
        .collect();
    let fix = to_fix(draft, stage, open.iter().map(|bug| text(bug, "stage")).collect());
    let name = &stage.name.text;
    if let Some(now) = draft.stage(name) {
        now.qa_verdict = verdict;
        now.fix_stages = if verdict == Some(QaVerdict::Approve) { Vec::new() } else { fix };
    }
    match verdict {
        Some(QaVerdict::MajorIssues) => draft.block(name, "the tests found major issues"),
        Some(QaVerdict::NeedsFixes) if !blocking.is_empty() => {
            draft.block(name, &format!("bugs that are too bad: {}", blocking.join(", ")));
        }
        _ => {}
    }
}

/// Returns the stages that mend bugs: those that the bugs name, or those of the rule.
fn to_fix(draft: &Draft<'_>, tests: &StageDefinition, bugs: Vec<Option<String>>) -> Vec<String> {
    let definition = draft.definition;
    let is_before = |name: &str| {
        definition.following(name).contains(&tests.name.text.as_str())
            && draft.state.stages.get(name).is_some_and(|now| now.status != StageStatus::Skipped)
    };
    let named: Option<BTreeSet<String>> =
        bugs.into_iter().map(|name| name.filter(|name| is_before(name))).collect();
    let of_rule = || {
        let names = definition.qa.as_ref().map_or(&[][..], |rule| &rule.fix);
        let stages = definition.all_named(names).into_iter().map(|stage| stage.name.text.clone());
        stages.filter(|name| is_before(name)).collect::<BTreeSet<String>>()
    };
    let names = named.filter(|names| !names.is_empty()).unwrap_or_else(of_rule);
    let stages = definition.stages.iter().map(|stage| stage.name.text.clone());
    stages.filter(|name| names.contains(name)).collect()
}
