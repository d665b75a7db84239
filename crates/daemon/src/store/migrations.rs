//! Migrations of stored data from each older version to the next.

use serde_json::{Map, Value};

use super::schema::MigratedKind;

/// Version 2 has one kind of session: a visit of a step only says whether its agent's was started.
/// And pending side effects are in the state's outbox: jobs, which were only with their pipelines,
/// notices and journal lines.
pub(super) fn to_2(kind: MigratedKind, mut value: Value) -> Result<Value, String> {
    if kind == MigratedKind::Entry {
        return Ok(value);
    }
    let state = value.as_object_mut().ok_or("the state must be an object")?;
    let mut jobs = Map::new();
    let pipelines = state.get_mut("pipelines").and_then(|all| all.get_mut("by_id"));
    for (id, pipeline) in pipelines.and_then(Value::as_object_mut).into_iter().flatten() {
        let visits = pipeline.get_mut("visits").and_then(Value::as_array_mut);
        for visit in visits.into_iter().flatten().filter_map(Value::as_object_mut) {
            let session = visit.remove("session");
            let has_session = session.is_some_and(|session| !session.is_null());
            visit.insert("has_session".to_owned(), has_session.into());
        }
        let numbers = pipeline.get("jobs").and_then(Value::as_object).into_iter().flatten();
        let numbers: Vec<Value> =
            numbers.filter_map(|(_, job)| job.get("number").cloned()).collect();
        if !numbers.is_empty() {
            jobs.insert(id.clone(), numbers.into());
        }
    }
    let mut moved = |name: &str, otherwise: Value| state.remove(name).unwrap_or(otherwise);
    let notices = moved("notices", Value::Array(Vec::new()));
    let alarms = moved("alarms", Value::Object(Map::new()));
    let journal_lines = moved("to_journal", Value::Object(Map::new()));
    let outbox = serde_json::json!({
        "jobs": jobs, "notices": notices, "alarms": alarms, "journal_lines": journal_lines,
    });
    state.insert("outbox".to_owned(), outbox);
    Ok(value)
}
