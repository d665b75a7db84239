//! What the fuzz targets call: each takes any bytes and must come back.

use anyhook_model::{Caller, Host, OpenFormat, Outcome, Spelling, StdoutUse};

/// Reads bytes as a HOOK.md.
pub fn front_matter(data: &[u8]) {
    let read = crate::definition::read(data, "guard");
    for problem in &read.problems {
        if let Some(place) = problem.place {
            assert!(place.start <= place.end && place.start <= data.len() * 3 + 3);
            assert!(place.line >= 1 && place.column >= 1);
        }
    }
    let definition = &read.definition;
    assert!(!definition.triggers.is_empty() || read.fault().is_some());
    assert!((100..=600_000).contains(&definition.timeout_ms) && definition.priority <= 1000);
}

/// Reads bytes as a hook's output.
pub fn hook_output(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for stdout_use in [StdoutUse::Log, StdoutUse::Context] {
        let said = crate::output::interpret("guard", stdout_use, &Outcome::Exited(0), &text, "");
        assert!(said.failure.is_none() || said.decision.is_silent());
    }
    // A deny on a line of its own stands, whatever comes before it.
    let denied = format!("{{\"decision\": \"deny\"}}\n{text}");
    let said = crate::output::interpret("guard", StdoutUse::Log, &Outcome::Exited(0), &denied, "");
    assert_eq!(said.decision.effect, Some(anyhook_model::Effect::Deny));
}

/// Reads bytes as an event, and what is written of it as an event again.
pub fn event_json(data: &[u8]) {
    let caller = Caller::new("/", jiff::Timestamp::UNIX_EPOCH);
    let Ok(events) = OpenFormat.decode(data, &caller) else { return };
    for event in events {
        let text = event.to_json(Spelling::Canonical);
        let again = OpenFormat.decode(text.as_bytes(), &caller).expect("what we write we can read");
        assert_eq!(again[0].to_json(Spelling::Canonical), text);
    }
}

/// Takes the secrets out of bytes, as they are and as a JSON string.
pub fn redact(data: &[u8]) {
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let text = String::from_utf8_lossy(data);
    for text in [serde_json::Value::from(&*text).to_string(), text.into_owned()] {
        if let Some(found) = crate::redact::redact(&text) {
            assert!(!is_json(&text) || is_json(&found.text));
        }
    }
}

/// Reads bytes as lines of the journal, in both forms; what is a record is written and read again.
pub fn journal_line(data: &[u8]) {
    use crate::journal::line;
    for text in data.split(|byte| *byte == b'\n') {
        let found = [line::Line::of_segment(text), Ok(line::Line::of_first_form(text))];
        for record in found.into_iter().filter_map(|line| line.and_then(|line| line.record()).ok())
        {
            let mut written = Vec::new();
            // Long texts have nowhere to go.
            let nowhere = std::path::Path::new("/dev/null/nowhere");
            if line::write(record.clone(), &mut written, nowhere, false).is_err() {
                continue;
            }
            let written = written.strip_suffix(b"\n").expect("a line ends");
            let again = line::Line::of_segment(written).and_then(|line| line.record());
            assert_eq!(again.map(|again| again.id), Ok(record.id));
        }
    }
}
