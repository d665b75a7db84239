//! The limits of results: a model reads all of it, and pays for it. What is left out is said.

use anyhook_engine::redact::redact;
use anyhook_model::json::{shorten, to_spaced};
use anyhook_model::mcp::ITEMS_MOST;
use anyhook_model::{Payload, Record};
use serde::Serialize;
use serde_json::Value;

use crate::error::CommandError;

/// A list ends when its items have this many bytes.
const LIST_MOST: usize = 96 * 1024;
/// Longer texts are cut.
const TEXT_MOST: usize = 8 * 1024;
/// A result that is still longer is an error.
const RESULT_MOST: usize = 512 * 1024;

/// The items that are returned, and what is said about those that are not.
pub struct Fitting<T> {
    pub items: Vec<T>,
    pub left_out: Option<String>,
}

/// Returns how many items a caller gets at most.
pub fn limit(asked: usize) -> usize {
    asked.clamp(1, ITEMS_MOST)
}

/// Returns how many of the first items fit; one always does.
pub fn fitting<'item, T: Serialize + 'item>(items: impl Iterator<Item = &'item T>) -> usize {
    let mut left = LIST_MOST;
    let fits = |(index, item): &(usize, &T)| {
        let length = to_spaced(item).len();
        let fits = *index == 0 || length <= left;
        left = left.saturating_sub(length);
        fits
    };
    items.enumerate().take_while(fits).count()
}

/// Returns the first items, at most as many as asked for.
pub fn fit<T: Serialize>(mut items: Vec<T>, asked: usize) -> Fitting<T> {
    let (total, limit) = (items.len(), limit(asked));
    let kept = fitting(items.iter().take(limit));
    items.truncate(kept);
    let left_out = (kept < total).then(|| {
        let more = total - kept;
        let raise = if kept == limit && limit < ITEMS_MOST {
            format!("raise `limit` (at most {ITEMS_MOST}) or ")
        } else {
            String::new()
        };
        format!("{more} more are left out: {raise}narrow the filters")
    });
    Fitting { items, left_out }
}

/// Cuts a long payload. It becomes a text, of which less is left than of its longest value.
pub fn with_short_payload(mut record: Record) -> Record {
    record.payload = record.payload.map(|payload| match payload.as_text() {
        text if text.len() > TEXT_MOST => Payload::from(shorten(text, TEXT_MOST)),
        _ => payload,
    });
    record
}

/// Returns a result as it is sent: secrets redacted as in the journal, long texts cut.
pub fn finished(result: &impl Serialize) -> Result<Value, CommandError> {
    // Before anything is cut: half a secret is not recognised. What is replaced contains no quote
    // and no part of an escape, so it is still JSON.
    let mut value: Value = match redact(&to_spaced(result)) {
        Some(redacted) => serde_json::from_str(&redacted.text),
        None => serde_json::to_value(result),
    }
    .map_err(std::io::Error::from)?;
    if cut_texts(&mut value) && value["left_out"].is_null() {
        let what = "texts longer than 8 KiB are cut; a person reads them in full with `anyhook`";
        value["left_out"] = what.into();
    }
    let length = to_spaced(&value).len();
    if length > RESULT_MOST {
        let why = format!("the result is too large for an answer ({} KiB)", length / 1024);
        return Err(CommandError::problem(why)
            .hint("narrow the filters, or have a person look: anyhook log show ID"));
    }
    Ok(value)
}

/// Cuts every text that is too long. Returns whether there was one.
fn cut_texts(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            // The mark of a cut is longer than this.
            let is_long = text.len() > TEXT_MOST + 64;
            if is_long {
                *text = shorten(text, TEXT_MOST);
            }
            is_long
        }
        Value::Array(items) => items.iter_mut().fold(false, |cut, item| cut_texts(item) | cut),
        Value::Object(fields) => {
            fields.values_mut().fold(false, |cut, field| cut_texts(field) | cut)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_says_what_it_leaves_out() {
        let all: Vec<usize> = (0..300).collect();
        let some = fit(all.clone(), 50);
        assert_eq!(some.items.len(), 50);
        assert_eq!(
            some.left_out.as_deref(),
            Some("250 more are left out: raise `limit` (at most 200) or narrow the filters")
        );
        let most = fit(all.clone(), 100_000);
        assert_eq!(most.items.len(), 200);
        assert_eq!(most.left_out.as_deref(), Some("100 more are left out: narrow the filters"));
        let few = fit(all[..3].to_vec(), 3);
        assert_eq!((few.items.len(), few.left_out), (3, None));
        assert_eq!(fit(all, 0).items, [0]);
        let large = fit(vec!["x".repeat(LIST_MOST), "y".to_owned()], 50);
        assert_eq!(large.items.len(), 1);
        assert_eq!(large.left_out.as_deref(), Some("1 more are left out: narrow the filters"));
    }

    #[test]
    fn long_texts_are_cut_and_secrets_redacted() {
        let result = finished(&json!({"a": ["x".repeat(20_000)], "b": "short"})).unwrap();
        assert!(result["a"][0].as_str().unwrap().ends_with("… (11808 bytes cut)"));
        assert_eq!(result["b"], "short");
        assert!(result["left_out"].as_str().unwrap().contains("8 KiB"), "{result}");

        let token = format!("ghp_{}", "a1B2".repeat(9));
        let about = format!("curl -H \"Authorization: Bearer {token}\" https://example.com");
        let result = finished(&json!({"about": about, "password": "hunter2hunter2"})).unwrap();
        assert!(!result.to_string().contains(&token), "{result}");
        assert!(result["about"].as_str().unwrap().contains("[redacted"), "{result}");
        assert!(result.get("left_out").is_none(), "{result}");

        let many = vec!["x".repeat(8000); 100];
        assert!(finished(&json!({"many": many})).unwrap_err().message().contains("too large"));
    }
}
