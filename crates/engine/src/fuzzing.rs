//! Entry points for the fuzz targets: each takes arbitrary bytes and must return.

use anyhook_model::{Caller, Host, OpenFormat, RunOutcome, Spelling, StdoutUse};

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
    use anyhook_model::{Effect, EventKind};
    let text = String::from_utf8_lossy(data);
    let read = |kind: &EventKind, stdout_use, text: &str| {
        crate::output::interpret("guard", kind, stdout_use, &RunOutcome::Exited(0), text, "")
    };
    for stdout_use in [StdoutUse::Log, StdoutUse::Context] {
        for kind in [EventKind::BeforeTool, EventKind::BeforeStop] {
            let said = read(&kind, stdout_use, &text);
            // The broken part may have been the objection.
            let effect = said.decision.effect;
            assert!(
                said.failure.is_none() || !matches!(effect, Some(Effect::Allow | Effect::Deny))
            );
        }
    }
    // A deny on a line of its own counts, in any dialect, whatever follows it.
    for deny in crate::output::dialect::DENIES {
        let said = read(&EventKind::BeforeTool, StdoutUse::Log, &format!("{deny}\n{text}"));
        assert_eq!(said.decision.effect, Some(Effect::Deny), "{deny}");
    }
}

/// Reads bytes as an event, and reads its serialized form again.
pub fn event_json(data: &[u8]) {
    let caller = Caller::new("/", jiff::Timestamp::UNIX_EPOCH);
    let Ok(events) = OpenFormat.decode(data, &caller) else { return };
    for event in events {
        let text = event.to_json(Spelling::Canonical);
        let again = OpenFormat.decode(text.as_bytes(), &caller).expect("what we write we can read");
        assert_eq!(again[0].to_json(Spelling::Canonical), text);
    }
}

/// Reads bytes as a partially decoded event: what is kept plus what was left out is the whole.
pub fn large_event(data: &[u8]) {
    use anyhook_model::json::{FieldRole, abridge, any_leaf};
    let Ok(text) = str::from_utf8(data) else { return };
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
    for keep in [0, 5, 40] {
        let Some(abridged) = abridge(text, OpenFormat.opaque_fields(), keep) else { continue };
        let (whole, short) = (read(text), read(&abridged.text));
        if abridged.cuts.is_empty() {
            assert_eq!(whole, short);
        }
        let cuts: Vec<_> = abridged
            .cuts
            .iter()
            .filter(|cut| cut.role == FieldRole::Input)
            .map(anyhook_model::json::Cut::text)
            .collect();
        any_leaf(&whole["tool_input"], &mut |leaf| {
            let is_kept = any_leaf(&short["tool_input"], &mut |kept| kept == leaf);
            assert!(is_kept || cuts.iter().any(|cut| cut.contains(leaf)), "{leaf}");
            false
        });
    }
}

/// Treats bytes as an index with valid checksums, the first two bytes giving the length of its
/// head: whatever it says, it is read or rejected.
pub fn index(data: &[u8]) {
    use anyhook_model::{Event, EventKind, ToolCall};
    let Some(([low, high], bytes)) = data.split_first_chunk() else { return };
    let length = usize::from(u16::from_le_bytes([*low, *high])).min(bytes.len());
    let (head, rest) = bytes.split_at(length);
    let nowhere = std::path::Path::new("/nowhere");
    let mut event = Event::new(EventKind::BeforeTool, "agent-hooks", nowhere, crate::now());
    event.tool = Some(ToolCall::new("Shell", serde_json::json!({"command": "echo"})));
    let _ = crate::index::read_bytes(head, rest, &event);
}

/// Removes the secrets from bytes, as they are and as a JSON string.
pub fn redact(data: &[u8]) {
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let text = String::from_utf8_lossy(data);
    for text in [serde_json::Value::from(&*text).to_string(), text.into_owned()] {
        if let Some(found) = crate::redact::redact(&text) {
            assert!(!is_json(&text) || is_json(&found.text));
        }
    }
}

/// Treats the first line as an expression and the rest as a text: lazy compilation must give the
/// same answer as eager compilation.
pub fn matcher(data: &[u8]) {
    use crate::matcher::{CallTexts, Expression, Matcher};
    let text = String::from_utf8_lossy(data);
    let (expression, text) = text.split_once('\n').unwrap_or((&text, ""));
    // Compiling long expressions takes more time than the result is worth.
    if expression.len() > 200 {
        return;
    }
    let plain = regex::Regex::new(expression);
    let anywhere = Expression::anywhere(expression);
    assert_eq!(anywhere.is_ok(), plain.is_ok(), "{expression:?}");
    if let (Ok(anywhere), Ok(plain)) = (anywhere, plain) {
        let right = plain.is_match(text);
        assert_eq!(anywhere.is_match(text), right, "{anywhere:?} in {text:?}");
        let call = anyhook_model::ToolCall::new("", text.into());
        let matcher = Matcher::from_parts(None, Some(anywhere));
        assert!(
            matcher.may_match(&call, &CallTexts::of(&call)) || !right,
            "{matcher:?} in {text:?}"
        );
    }
    let anchored = |end: &str| regex::Regex::new(&format!("^(?i:{expression}{end})$"));
    let whole = Expression::whole(expression);
    let plain =
        regex::Regex::new(expression).and_then(|_| anchored("").or_else(|_| anchored("\n")));
    assert_eq!(whole.is_ok(), plain.is_ok(), "{expression:?}");
    if let (Ok(whole), Ok(plain)) = (whole, plain) {
        assert_eq!(whole.is_match(text), plain.is_match(text), "{whole:?} of {text:?}");
    }
}

/// Reads bytes as journal lines, in both formats; what is a record is written and read again.
pub fn journal_line(data: &[u8]) {
    use crate::journal::line;
    for text in data.split(|byte| *byte == b'\n') {
        let found =
            [line::JournalLine::of_segment(text), Ok(line::JournalLine::of_first_form(text))];
        for record in found.into_iter().filter_map(|line| line.and_then(|line| line.record()).ok())
        {
            let mut written = Vec::new();
            // There is no place to store long texts.
            let nowhere = std::path::Path::new("/dev/null/nowhere");
            if line::write(record.clone(), &mut written, nowhere, false).is_err() {
                continue;
            }
            let written = written.strip_suffix(b"\n").expect("a line ends");
            let again = line::JournalLine::of_segment(written).and_then(|line| line.record());
            assert_eq!(again.map(|again| again.id), Ok(record.id));
        }
    }
}

/// Treats the first line as a matcher in JSON and the rest as a command line: whatever matches gets
/// through the prefilter.
pub fn conditions(data: &[u8]) {
    use crate::matcher::Matcher;
    use crate::matcher::conditions::of_event;
    use anyhook_model::{Event, EventKind, ToolCall};
    let text = String::from_utf8_lossy(data);
    let (definition, line) = text.split_once('\n').unwrap_or((&text, ""));
    let Ok(definition) = serde_json::from_str(definition) else { return };
    let Ok(matcher) = Matcher::new(&definition) else { return };
    let project = std::path::Path::new("/nowhere/project");
    let mut event = Event::new(EventKind::BeforeTool, "agent-hooks", project, crate::now());
    event.project_dir = Some(project.to_owned());
    event.home = Some("/nowhere".into());
    event.tool = Some(ToolCall::new("Shell", serde_json::json!({"command": line})));
    let may_match = || matcher.prefilter().may_match(of_event(&event), &event);
    assert!(matcher.matches(&event).is_err() || may_match(), "{definition:?} drops {line:?}");
}
