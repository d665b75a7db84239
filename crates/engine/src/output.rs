//! What a hook said, read from its exit code and output.
//!
//! Two laws: no output can make the engine fail, and a recognisable deny is never lost.

use anyhook_model::json::shorten;
use anyhook_model::{Decision, Effect, Outcome, StdoutUse};
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;

use crate::run::capture::CUT;

/// A reason longer than this helps nobody.
const REASON_LIMIT: usize = 16 * 1024;

/// What one run said: a decision, or why it counts as a failure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The decision. With a failure, only a deny that was recognised nevertheless.
    pub decision: Decision,
    /// Why the run counts as a failure, if it does.
    pub failure: Option<String>,
    /// What is worth knowing beside that.
    pub notes: Vec<String>,
}

/// Reads what a finished run said.
pub fn interpret(
    name: &str,
    stdout_use: StdoutUse,
    outcome: &Outcome,
    stdout: &str,
    stderr: &str,
) -> Said {
    match outcome {
        Outcome::Exited(0) | Outcome::Leaked(0) => {
            let mut said = read_stdout(stdout, stdout_use);
            if said.decision.effect == Some(Effect::Deny) && said.decision.reason.is_none() {
                said.decision.reason = Some(format!("blocked by hook {name}"));
            }
            said
        }
        Outcome::Exited(2) | Outcome::Leaked(2) => {
            let reason = stderr.trim();
            let reason = if reason.is_empty() {
                format!("blocked by hook {name}")
            } else {
                shorten(reason, REASON_LIMIT)
            };
            Said { decision: Decision::deny(reason), ..Said::default() }
        }
        Outcome::Detached | Outcome::Returned => Said::default(),
        other => {
            let mut why = other.to_string();
            if let Some(last) = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
                why = format!("{why}: {}", shorten(last, 300));
            }
            Said { failure: Some(why), ..Said::default() }
        }
    }
}

/// Reads the standard output of a run that exited 0.
fn read_stdout(stdout: &str, stdout_use: StdoutUse) -> Said {
    let mut said = Said::default();
    let mut text = String::new();
    let mut last = None;
    let mut denied = None;
    let mut rest = stdout.strip_prefix('\u{feff}').unwrap_or(stdout);
    // Blanks before all else are no line of their own: `  {…}` is JSON too.
    rest = match rest.trim_start() {
        start if start.starts_with('{') => start,
        _ => rest,
    };
    while !rest.is_empty() {
        if !rest.starts_with('{') {
            let end = rest.find('\n').map_or(rest.len(), |newline| newline + 1);
            text.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        match read_object(rest) {
            Ok((fields, length)) => {
                let one = read_fields(fields);
                if one.decision.effect == Some(Effect::Deny) {
                    denied.get_or_insert(one);
                } else {
                    last = Some(one);
                }
                rest = &rest[length..];
                // Another object on the same line counts; other text there is a note.
                let same_line = rest.trim_start_matches([' ', '\t', '\r']);
                if same_line.starts_with('{') {
                    rest = same_line;
                } else {
                    let end = rest.find('\n').map_or(rest.len(), |newline| newline + 1);
                    text.push_str(rest[..end].trim());
                    rest = &rest[end..];
                }
            }
            Err(error) => {
                said.failure.get_or_insert_with(|| {
                    format!("its output starts like a JSON object and is none: {error}")
                });
                // From here on only a deny is looked for, letter by letter: linear in any case.
                if denied.is_none() && shows_deny(rest) {
                    denied = Some(bare_deny());
                }
                break;
            }
        }
    }
    if denied.is_none() && stdout.contains(CUT) && shows_deny(stdout) {
        // Its object may have begun in what was cut.
        denied = Some(bare_deny());
    }
    if let Some(mut denied) = denied {
        denied.notes.extend(said.failure.take());
        denied.notes.extend(denied.failure.take());
        return denied;
    }
    if said.failure.is_some() {
        return said;
    }
    let mut said = last.unwrap_or_else(|| {
        let context = text.trim();
        let mut said = Said::default();
        if stdout_use == StdoutUse::Context && !context.is_empty() {
            said.decision.additional_context = Some(context.to_owned());
        }
        said
    });
    if said.failure.is_some() {
        said.decision = Decision::default();
    }
    said
}

/// Returns a deny of which nothing else could be read.
fn bare_deny() -> Said {
    let decision = Decision { effect: Some(Effect::Deny), ..Decision::default() };
    Said { decision, ..Said::default() }
}

/// Reads one object at the head of `text`; returns its fields, twins included, and its length.
fn read_object(text: &str) -> Result<(Vec<(String, Value)>, usize), String> {
    let mut reader = serde_json::Deserializer::from_str(text).into_iter::<Fields>();
    match reader.next() {
        Some(Ok(fields)) => Ok((fields.0, reader.byte_offset())),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("nothing there".to_owned()),
    }
}

/// An object's fields in order. A map would lose a deny to a later field of the same name.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// Reads a decision from an object's fields. A deny stands whatever is wrong with the rest.
fn read_fields(fields: Vec<(String, Value)>) -> Said {
    let mut decision = Decision::default();
    let mut wrong = Vec::new();
    let text = |name: &str, value: Value, wrong: &mut Vec<String>| {
        if let Value::String(text) = value {
            Some(text)
        } else {
            wrong.push(format!("`{name}` is not a string"));
            None
        }
    };
    for (name, value) in fields {
        if value.is_null() {
            continue;
        }
        match name.as_str() {
            name if name.eq_ignore_ascii_case("decision") => {
                match value.as_str().and_then(Effect::from_word) {
                    Some(effect) => {
                        if decision.effect != Some(Effect::Deny) {
                            decision.effect = Some(effect);
                        }
                    }
                    None => {
                        wrong
                            .push(format!("unknown decision {}", shorten(&value.to_string(), 100)));
                    }
                }
            }
            "reason" => {
                decision.reason =
                    text("reason", value, &mut wrong).map(|reason| shorten(&reason, REASON_LIMIT));
            }
            "additional_context" => {
                decision.additional_context = text("additional_context", value, &mut wrong);
            }
            "log" => decision.log = text("log", value, &mut wrong),
            "modified_input" => match value {
                Value::Object(input) => decision.modified_input = Some(input),
                _ => wrong.push("`modified_input` is not an object".to_owned()),
            },
            _ => {}
        }
    }
    if decision.effect == Some(Effect::Deny) {
        let reason = decision.reason.take().filter(|reason| !reason.trim().is_empty());
        let deny = Decision { reason, modified_input: None, ..decision };
        return Said { decision: deny, failure: None, notes: wrong };
    }
    if wrong.is_empty() {
        return Said { decision, ..Said::default() };
    }
    Said {
        failure: Some(format!("its output cannot be used: {}", wrong.join("; "))),
        ..Said::default()
    }
}

/// Tells whether text that is no JSON says deny all the same: `"decision": "deny"`.
///
/// Quotes of either kind; a backslash before one means the words are quoted inside a text.
fn shows_deny(text: &str) -> bool {
    let bytes = text.as_bytes();
    let skip_blanks = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    // Returns the end of a quoted word at `at`.
    let quoted = |at: usize, words: &[&str]| {
        let quote = *bytes.get(at).filter(|byte| matches!(byte, b'"' | b'\''))?;
        let start = skip_blanks(at + 1);
        words.iter().find_map(|word| {
            let end = start + word.len();
            let same = bytes.get(start..end)?.eq_ignore_ascii_case(word.as_bytes());
            let end = if same { skip_blanks(end) } else { return None };
            (bytes.get(end) == Some(&quote)).then_some(end + 1)
        })
    };
    (0..bytes.len()).any(|at| {
        if at > 0 && bytes[at - 1] == b'\\' {
            return false;
        }
        let Some(after_key) = quoted(at, &["decision"]) else { return false };
        let colon = skip_blanks(after_key);
        bytes.get(colon) == Some(&b':')
            && quoted(skip_blanks(colon + 1), &["deny", "block"]).is_some()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn exit_0(stdout: &str) -> Said {
        interpret("h", StdoutUse::Log, &Outcome::Exited(0), stdout, "")
    }

    fn effect(stdout: &str) -> Option<Effect> {
        exit_0(stdout).decision.effect
    }

    #[test]
    fn no_object_is_no_opinion() {
        for stdout in [
            "",
            "done\n",
            "[1]\n",
            "\"deny\"",
            "log {\"decision\": \"deny\"}",
            "x\n  {\"decision\": \"deny\"}",
        ] {
            assert_eq!(exit_0(stdout), Said::default(), "{stdout}");
        }
    }

    #[test]
    fn objects_may_stand_between_log_lines() {
        assert_eq!(effect("checking\n{\"decision\": \"deny\"}\ndone\n"), Some(Effect::Deny));
        assert_eq!(effect("{\n  \"decision\": \"ask\"\n}\n"), Some(Effect::Ask));
        assert_eq!(effect("\n\n  {\"decision\": \"allow\"}"), Some(Effect::Allow));
        assert_eq!(effect("{\"decision\": \"BLOCK\"}\r\n"), Some(Effect::Deny));
    }

    #[test]
    fn several_objects_a_deny_wins_else_the_last() {
        assert_eq!(
            effect("{\"decision\": \"deny\"}\n{\"decision\": \"allow\"}\n"),
            Some(Effect::Deny)
        );
        assert_eq!(
            effect("{\"decision\": \"allow\"}\n{\"decision\": \"ask\"}\n"),
            Some(Effect::Ask)
        );
        assert_eq!(effect("{\"decision\": \"allow\"}{\"decision\": \"deny\"}"), Some(Effect::Deny));
        assert_eq!(effect("{\"decision\": \"ask\"}\n{\"log\": \"x\"}\n"), None);
    }

    #[test]
    fn null_is_as_good_as_absent() {
        let said = exit_0(
            r#"{"decision": null, "reason": null, "modified_input": null, "additional_context": "c", "log": null}"#,
        );
        assert_eq!(said.failure, None);
        assert_eq!(
            said.decision,
            Decision { additional_context: Some("c".to_owned()), ..Decision::default() }
        );
    }

    #[test]
    fn unusable_output_is_a_failure() {
        for stdout in [
            "{oops}",
            "{\"decision\": \"allow\"",
            "{\"decision\": \"maybe\"}",
            "{\"decision\": 1}",
            "{\"decision\": \"\"}",
            "{\"reason\": 5}",
            "{\"modified_input\": \"ls\"}",
            "{\"additional_context\": [\"a\"]}",
            "{\"log\": {}}",
            "{\"decision\": \"allow\"}\n{broken",
        ] {
            let said = exit_0(stdout);
            assert!(said.failure.is_some(), "{stdout}");
            assert!(said.decision.is_silent(), "{stdout}");
        }
    }

    #[test]
    fn a_recognisable_deny_is_never_lost() {
        let deep =
            format!("{{\"x\": {}{}, \"decision\": \"deny\"}}", "[".repeat(5000), "]".repeat(5000));
        for stdout in [
            "{\"decision\": \"deny\", \"reason\": 5}",
            "{\"decision\": \"deny\", \"modified_input\": 7}",
            "{\"decision\": \"deny\", \"reason\": \"cut",
            "{\"decision\": \"deny\",}",
            "{'decision': 'deny'}",
            "{\"decision\":\"deny\"} trailing {",
            "{\"decision\": \"deny\", \"decision\": \"allow\"}",
            "{\"decision\": \"allow\", \"decision\": \"Deny\"}",
            "{\"Decision\": \"deny\"}",
            "{\"decision\": \" deny \"}",
            "{broken\n{\"decision\": \"deny\"}",
            deep.as_str(),
        ] {
            assert_eq!(effect(stdout), Some(Effect::Deny), "{}", shorten(stdout, 60));
        }
        assert_eq!(effect(r#"{"log": "say \"decision\": \"deny\" "#), None);
    }

    #[test]
    fn exit_2_blocks_with_stderr() {
        let said = interpret(
            "h",
            StdoutUse::Log,
            &Outcome::Exited(2),
            "{\"decision\": \"allow\"}",
            " no way \u{fffd}\n",
        );
        assert_eq!(said.decision, Decision::deny("no way \u{fffd}"));
        let said = interpret("h", StdoutUse::Log, &Outcome::Exited(2), "", "  \n");
        assert_eq!(said.decision.reason.as_deref(), Some("blocked by hook h"));
    }

    #[test]
    fn other_ends_are_failures() {
        for outcome in [
            Outcome::Exited(1),
            Outcome::Exited(127),
            Outcome::Killed(9),
            Outcome::TimedOut(100),
            Outcome::NotStarted("x".to_owned()),
        ] {
            let said = interpret(
                "h",
                StdoutUse::Log,
                &outcome,
                "{\"decision\": \"deny\"}",
                "first\nlast\n",
            );
            assert!(said.failure.unwrap().ends_with("last"));
            assert_eq!(said.decision.effect, None);
        }
    }

    #[test]
    fn plain_text_is_context_where_the_hook_says_so() {
        let said = interpret("h", StdoutUse::Context, &Outcome::Exited(0), "branch: main\n", "");
        assert_eq!(said.decision.additional_context.as_deref(), Some("branch: main"));
        let said = interpret(
            "h",
            StdoutUse::Context,
            &Outcome::Exited(0),
            "note\n{\"decision\": \"allow\"}\n",
            "",
        );
        assert_eq!(said.decision.additional_context, None);
    }

    #[test]
    fn input_changes_are_read() {
        let said = exit_0(r#"{"decision": "allow", "modified_input": {"command": "ls"}}"#);
        assert_eq!(said.decision.modified_input.as_ref(), json!({"command": "ls"}).as_object());
    }

    proptest! {
        #[test]
        fn no_output_makes_the_engine_fail(stdout in any::<String>(), noise in r#"[{}"':,\\\n a-z\[\]]{0,80}"#) {
            let _ = exit_0(&stdout);
            let _ = exit_0(&noise);
            let _ = exit_0(&format!("{{{noise}"));
        }

        #[test]
        fn a_deny_survives_whatever_stands_around_it(
            before in "[^{]{0,30}", after in any::<String>(), extra in r#"[a-z{}\[\],:"]{0,20}"#,
        ) {
            let deny = format!("{before}\n{{\"decision\": \"deny\", {extra}}}\n{after}");
            prop_assert_eq!(effect(&deny), Some(Effect::Deny));
        }
    }
}
