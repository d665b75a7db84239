//! Test verdicts, and which stages fix the bugs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ValidSignal;
use super::artifacts::ValidArtifact;
use crate::definition::{QaRule, StageDefinition, WorkflowDefinition};
use crate::findings::Findings;
use crate::machine::draft::Draft;
use crate::refusal::WorkflowRefusal;
use crate::schemas::ArtifactKind;
use crate::vocabulary::{QaVerdict, Severity, StageStatus};

fn text(bug: &Value, key: &str) -> Option<String> {
    bug.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Returns the bugs of a report that are still open.
fn open_bugs<'all>(report: &ValidArtifact<'all>) -> Vec<&'all Value> {
    let bugs = report.value.get("bugs").and_then(Value::as_array);
    let is_open = |bug: &&Value| text(bug, "status").is_none_or(|status| status == "open");
    bugs.into_iter().flatten().filter(is_open).collect()
}

/// Returns those that block the workflow.
fn blocking(rule: &QaRule, open: &[&Value]) -> Vec<String> {
    let is_blocking = |bug: &&&Value| {
        let severity = text(bug, "severity").and_then(|word| Severity::find(&word));
        severity.is_some_and(|severity| rule.blocking.contains(&severity))
    };
    let named = |bug: &&Value| Some(format!("{} ({})", text(bug, "id")?, text(bug, "severity")?));
    open.iter().filter(is_blocking).filter_map(named).collect()
}

fn report<'all, 'made>(made: &'made [ValidArtifact<'all>]) -> Option<&'made ValidArtifact<'all>> {
    made.iter().find(|one| one.kind == Some(ArtifactKind::QA))
}

/// Checks that tests do not approve although they found a blocking bug.
///
/// Such a report contradicts itself, so it goes back to its agent, like a deployment that was not
/// deployed. A person is not asked: no one can decide about a bug if the report says both that it
/// is there and that all is well. The agent can say which of the two is true, and people are asked
/// about `needs_fixes`.
pub fn check_tests(
    definition: &WorkflowDefinition,
    stage: &StageDefinition,
    signal: &ValidSignal,
    made: &[ValidArtifact<'_>],
) -> Result<(), WorkflowRefusal> {
    let rule = definition.qa.as_ref().filter(|rule| rule.stage.text == stage.name.text);
    let (Some(rule), Some(report), true) = (rule, report(made), signal.is_done()) else {
        return Ok(());
    };
    let bugs = blocking(rule, &open_bugs(report));
    let verdict = report.text("verdict").and_then(QaVerdict::find);
    if verdict == Some(QaVerdict::Approve) && !bugs.is_empty() {
        return Err(WorkflowRefusal::OpenBugs { path: report.path.clone(), bugs });
    }
    Ok(())
}

/// Merges the tests' verdict: blocking bugs block at once.
pub fn merge_tests(draft: &mut Draft<'_>, stage: &StageDefinition, made: &[ValidArtifact<'_>]) {
    let definition = draft.definition;
    let Some(rule) = &definition.qa else { return };
    let Some(report) = report(made) else { return };
    let verdict = report.text("verdict").and_then(QaVerdict::find);
    let open = open_bugs(report);
    let blocking = blocking(rule, &open);
    let fix = to_fix(draft, stage, open.iter().map(|bug| text(bug, "stage")).collect());
    let name = &stage.name.text;
    let items: Vec<Value> = open.iter().map(|bug| (*bug).clone()).collect();
    let found = (!items.is_empty())
        .then(|| Findings::new(name, Some(&report.path), report.text("summary"), items));
    if let Some(now) = draft.stage(name) {
        now.qa_verdict = verdict;
        now.bugs = found;
        now.fix_stages = if verdict == Some(QaVerdict::Approve) { Vec::new() } else { fix };
    }
    match verdict {
        Some(QaVerdict::MajorIssues) => draft.block(name, "the tests found major issues"),
        Some(QaVerdict::NeedsFixes) if !blocking.is_empty() => {
            draft.block(name, &format!("bugs that block: {}", blocking.join(", ")));
        }
        _ => {}
    }
}

/// Returns the stages that fix bugs: those that the bugs name, or those of the rule.
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
