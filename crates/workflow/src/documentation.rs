//! Current documentation for agents: fetched from an MCP server, kept in
//! `context-refresh-report.json`.
//!
//! It is a help: a server that is absent, slow or wrong results in a report that says so.

use std::time::Duration;

use anyhook_engine::now;
use anyhook_mcp::context7::{self, Context7Tools, DocumentationReport, DocumentationStatus};
use jiff::SignedDuration;
use serde_json::Value;

use crate::error::{FileError, FileKind, Unreadable, WorkflowError};
use crate::project::Project;
use crate::schemas::{ArtifactKind, validate};
use crate::server_finder::{self, ServerFinder};
use crate::state::WorkflowState;
use crate::vocabulary::StageStatus;

/// The server to ask if the workflow names none.
const SERVER: &str = "context7";
/// How long documentation stays current.
const CURRENT: SignedDuration = SignedDuration::from_hours(24);
/// How long an agent waits for it at its start, for all topics together.
pub const AT_START: Duration = Duration::from_secs(25);

/// Fetches documentation about topics, and keeps the reports.
pub fn refresh(
    project: &Project,
    servers: &dyn ServerFinder,
    topics: &[String],
    stage: Option<&str>,
    deadline: Duration,
) -> Result<Vec<DocumentationReport>, WorkflowError> {
    // If the reports could not be kept, nothing is fetched.
    kept(project)?;
    let mut reports = ask(project, servers, topics, deadline);
    for report in &mut reports {
        report.for_stage = stage.map(str::to_owned);
    }
    keep(project, &reports)?;
    Ok(reports)
}

/// Fetches what an agent should know when it starts: about each framework and library of the
/// project that has no current report. Returns the new reports.
pub fn refresh_for(
    project: &Project,
    servers: &dyn ServerFinder,
    state: &WorkflowState,
    agent: &str,
    deadline: Duration,
) -> Result<Vec<DocumentationReport>, WorkflowError> {
    let is_worked_on = |stage: &str| {
        state.stages.get(stage).is_some_and(|stage| stage.status == StageStatus::InProgress)
    };
    let mut stages = project.definition.stages.iter().filter(|stage| {
        let name = &stage.name.text;
        stage.agent.text == agent
            && is_worked_on(name)
            && project.definition.wants_documentation(name)
    });
    let Some(name) = stages.next().map(|stage| stage.name.text.as_str()) else {
        return Ok(Vec::new());
    };
    let since = now() - CURRENT;
    let known = reports_for(project, name);
    let is_current = |topic: &String| {
        known.iter().any(|report| {
            report.topic == *topic
                && report.status == DocumentationStatus::Fetched
                && report.fetched_at.is_some_and(|at| at > since)
        })
    };
    let mut topics = topics(&project.config()?.unwrap_or_default());
    topics.retain(|topic| !is_current(topic));
    if topics.is_empty() {
        return Ok(Vec::new());
    }
    refresh(project, servers, &topics, Some(name), deadline)
}

/// Returns the reports for the agent of a stage; none if the file cannot be used.
pub fn reports_for(project: &Project, stage: &str) -> Vec<DocumentationReport> {
    let mut reports = kept(project).unwrap_or_default();
    reports.retain(|report| report.for_stage.as_deref() == Some(stage));
    reports
}

/// Returns every framework and library of a project, in the order of its configuration, each once.
/// An area that is a plain text, such as `"database": "postgres"`, is a topic itself.
fn topics(config: &Value) -> Vec<String> {
    let areas = config["technology_stack"].as_object();
    let mut found: Vec<String> = Vec::new();
    for (_, area) in areas.into_iter().flatten() {
        let libraries = area["libraries"].as_array().into_iter().flatten();
        let named = [area, &area["framework"]].into_iter().chain(libraries);
        for topic in named.filter_map(Value::as_str) {
            if !topic.trim().is_empty() && !found.iter().any(|known| known == topic) {
                found.push(topic.to_owned());
            }
        }
    }
    found
}

fn ask(
    project: &Project,
    servers: &dyn ServerFinder,
    topics: &[String],
    deadline: Duration,
) -> Vec<DocumentationReport> {
    let rule = project.definition.documentation.as_ref();
    let name = rule.map_or(SERVER, |rule| rule.server.as_str());
    let asked = server_finder::ask(servers, name, deadline, |server, limits| {
        context7::refresh(server, &Context7Tools::default(), topics, &limits, &now)
    });
    asked.unwrap_or_else(|failure| {
        let failed = Err(failure);
        topics.iter().map(|topic| context7::report(topic, name, &failed, now())).collect()
    })
}

/// Returns the kept reports. A file that is not valid is refused: it may be the user's own.
fn kept(project: &Project) -> Result<Vec<DocumentationReport>, WorkflowError> {
    let path = path(project);
    let value = match project.read_json(&path) {
        Ok(value) => value,
        Err(Unreadable::Absent) => return Ok(Vec::new()),
        Err(error) => return Err(WorkflowError::file(FileKind::Documentation, &path, error)),
    };
    let faults = validate(ArtifactKind::CONTEXT_REFRESH, &value);
    if !faults.is_empty() {
        let why = FileError::Invalid(faults);
        return Err(WorkflowError::file(FileKind::Documentation, &path, why));
    }
    // A single report is a list of one.
    let value = if value.is_array() { value } else { Value::Array(vec![value]) };
    serde_json::from_value(value).map_err(|error| {
        let why = FileError::Unusable(error.to_string());
        WorkflowError::file(FileKind::Documentation, &path, why)
    })
}

/// Keeps reports together with the existing ones; one of the same topic and stage is replaced.
fn keep(project: &Project, reports: &[DocumentationReport]) -> Result<(), WorkflowError> {
    let _lock = project.lock()?;
    project.write_json(&path(project), &together(kept(project)?, reports))
}

/// Appends reports to those that stay.
fn together(
    mut old: Vec<DocumentationReport>,
    new: &[DocumentationReport],
) -> Vec<DocumentationReport> {
    let about = |report: &DocumentationReport| (report.topic.clone(), report.for_stage.clone());
    old.retain(|old| new.iter().all(|new| about(new) != about(old)));
    old.extend(new.iter().cloned());
    old
}

fn path(project: &Project) -> String {
    project.system_path(ArtifactKind::CONTEXT_REFRESH.file())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn report() -> impl Strategy<Value = DocumentationReport> {
        (0..3u8, proptest::option::of(0..2u8), any::<u16>()).prop_map(|(topic, stage, summary)| {
            let summary = summary.to_string();
            let value = json!({
                "topic": topic.to_string(), "source": "context7", "summary": summary,
                "fetched_at": "2026-01-02T03:04:05Z", "for_stage": stage.map(|stage| stage.to_string()),
            });
            serde_json::from_value(value).unwrap()
        })
    }

    fn reports() -> impl Strategy<Value = Vec<DocumentationReport>> {
        // One report per topic and stage, as they are kept.
        let once = |reports: Vec<DocumentationReport>| {
            reports.iter().fold(Vec::new(), |all, one| together(all, std::slice::from_ref(one)))
        };
        proptest::collection::vec(report(), 0..8).prop_map(once)
    }

    proptest! {
        #[test]
        fn every_topic_and_stage_has_its_latest_report(old in reports(), new in reports()) {
            let all = together(old.clone(), &new);
            let mut about: Vec<_> = all.iter().map(|one| (&one.topic, &one.for_stage)).collect();
            about.sort();
            about.dedup();
            prop_assert_eq!(about.len(), all.len(), "one each");
            prop_assert!(new.iter().all(|one| all.contains(one)), "the new ones are there");
            let is_about = |one: &DocumentationReport| about.contains(&(&one.topic, &one.for_stage));
            prop_assert!(old.iter().all(is_about), "no topic is lost");
            prop_assert!(all.iter().all(|one| old.contains(one) || new.contains(one)));
            prop_assert_eq!(together(all.clone(), &new).len(), all.len());
        }
    }

    #[test]
    fn every_framework_and_library_is_a_topic_once() {
        let config = json!({"technology_stack": {
            "frontend": {"framework": "React", "version": "19"},
            "backend": {"framework": "axum", "libraries": ["sqlx", "React", "tokio"]},
            "database": "postgres",
            "admin": {"framework": "React"},
            "mobile": {"language": "Kotlin"},
            "other": {"framework": null},
            "ai": null,
        }});
        assert_eq!(topics(&config), ["React", "axum", "sqlx", "tokio", "postgres"]);
        assert_eq!(topics(&Value::Null), [] as [&str; 0]);
    }
}
