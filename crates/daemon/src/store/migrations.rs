//! How what older versions stored is brought to the next.

use serde_json::Value;

use super::schema::Kind;

/// Version 2 has one kind of session: a visit of a step says only whether its agent's was started.
pub(super) fn to_2(kind: Kind, mut value: Value) -> Result<Value, String> {
    if kind == Kind::Snapshot
        && let Some(pipelines) =
            value.pointer_mut("/pipelines/by_id").and_then(Value::as_object_mut)
    {
        let visits = |pipeline: &mut Value| match pipeline["visits"].take() {
            Value::Array(visits) => visits,
            _ => Vec::new(),
        };
        for pipeline in pipelines.values_mut() {
            let mut visits = visits(pipeline);
            for visit in visits.iter_mut().filter_map(Value::as_object_mut) {
                let session = visit.remove("session");
                let has_session = session.is_some_and(|session| !session.is_null());
                visit.insert("has_session".to_owned(), has_session.into());
            }
            pipeline["visits"] = visits.into();
        }
    }
    Ok(value)
}
