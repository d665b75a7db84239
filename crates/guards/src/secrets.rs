//! Secrets: what the journal would redact, and values of names such as `API_KEY` that look random.
//!
//! Examples and placeholders pass: a guard that blocks documentation gets switched off.

use std::ops::Range;
use std::sync::LazyLock;

use anyhook_engine::redact;
use regex::Regex;
use serde::Deserialize;

use crate::Place;
use crate::answer::Answer;
use crate::event::Event;
use crate::options::{GuardError, Pattern};
use crate::sensitive::{CallAction, Finding, OutputAction, Policy, PromptAction};

/// Options of the pack `secrets`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecretOptions {
    writes: CallAction,
    calls: CallAction,
    prompts: PromptAction,
    outputs: OutputAction,
    assignments: bool,
    allow: Vec<Pattern>,
    allow_paths: Vec<Pattern>,
}

impl Default for SecretOptions {
    fn default() -> Self {
        Self {
            writes: CallAction::Deny,
            calls: CallAction::Deny,
            prompts: PromptAction::Deny,
            outputs: OutputAction::Warn,
            assignments: true,
            allow: Vec::new(),
            allow_paths: Vec::new(),
        }
    }
}

/// Returns the answer to an event.
pub fn decide(event: &Event, options: &SecretOptions, place: &Place) -> Result<Answer, GuardError> {
    let policy = Policy {
        words: ("a secret", "secrets"),
        advice: "read it from the environment or a secret store instead; if it is not a secret, a person can add it to `allow` or its file to `allow_paths` in the hook's HOOK.md",
        writes: options.writes,
        calls: options.calls,
        prompts: options.prompts,
        outputs: options.outputs,
        allow: options.allow.clone(),
        allow_paths: options.allow_paths.clone(),
    };
    Ok(policy.decide(event, &|text| find(text, options.assignments), place))
}

/// Returns the secrets in a text, in order. With `assignments` also random values of names such as
/// `API_KEY`.
pub fn find(text: &str, assignments: bool) -> Vec<Finding> {
    let known = redact::find(text).into_iter();
    let mut found: Vec<Finding> =
        known.map(|place| Finding { range: place.range, kind: place.kind }).collect();
    if assignments {
        for range in assigned(text) {
            if !found.iter().any(|one| one.range.start < range.end && range.start < one.range.end) {
                found.push(Finding { range, kind: "random-value" });
            }
        }
        found.sort_by_key(|one| one.range.start);
    }
    found.retain(|one| !is_example(text, one));
    found
}

/// Names whose values are secrets, assigned a value in quotes, or a bare one as in `.env`.
static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r"(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|encryption[_-]?key|token)";
    let quoted = r#"["']?\s*(?::=|=>|=|:)\s*["']([A-Za-z0-9+/=_.!@#%^&*~-]{16,200})["']"#;
    let bare = r"[A-Za-z0-9_]*=([A-Za-z0-9+/=_.-]{16,200})\s*$";
    Regex::new(&format!(r"(?im){name}(?:_[a-z0-9_]{{1,20}})?(?:{quoted}|{bare})")).ok()
});

fn assigned(text: &str) -> Vec<Range<usize>> {
    let Some(expression) = &*ASSIGNED else { return Vec::new() };
    let value = |found: regex::Captures<'_>| {
        let value = found.get(1).or_else(|| found.get(2))?;
        is_random(value.as_str()).then(|| value.range())
    };
    expression.captures_iter(text).filter_map(value).collect()
}

/// Returns whether a value is neither words, nor a path, nor a name.
fn is_random(value: &str) -> bool {
    let is_word = |part: &str| {
        let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
        letters == 0 || letters == part.len()
    };
    let parts = || value.split(['-', '_', '.', '/', ':']).filter(|part| !part.is_empty());
    let has_digits = value.bytes().filter(u8::is_ascii_digit).count() >= 2;
    let has_letters = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    has_digits
        && has_letters
        && !value.starts_with(['/', '.'])
        && !parts().all(is_word)
        && bits_per_letter(value) >= 3.3
}

/// Returns Shannon's entropy of a text's bytes.
#[expect(clippy::cast_precision_loss, reason = "the counts are small")]
fn bits_per_letter(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let all = text.len() as f64;
    let share = |count: &u32| f64::from(*count) / all;
    -counts.iter().filter(|count| **count > 0).map(share).map(|p| p * p.log2()).sum::<f64>()
}

/// Words of values that stand for a secret.
const EXAMPLE_WORDS: [&str; 12] = [
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "xxxx",
    "dummy",
    "redacted",
    "your-",
    "your_",
    "insert-",
    "not-a-real",
];

/// Passwords of development servers.
const COMMON_PASSWORDS: [&str; 12] = [
    "password", "passwd", "pass", "postgres", "mysql", "root", "admin", "test", "secret", "guest",
    "user", "changeme",
];

/// The token that documents about JSON Web Tokens show.
const KNOWN_JWT: &str = "eyJzdWIiOiIxMjM0NTY3ODkwIi";

/// Returns whether a finding is an example of a secret, not one.
fn is_example(text: &str, found: &Finding) -> bool {
    let value = &text[found.range.clone()];
    if found.kind == "private-key" {
        // Long enough to contain short words by chance.
        return value.to_ascii_lowercase().contains("example");
    }
    let lower = value.to_ascii_lowercase();
    let is_password = matches!(found.kind, "url-password" | "password");
    EXAMPLE_WORDS.iter().any(|word| lower.contains(word))
        || value.contains(KNOWN_JWT)
        || has_sequence(value)
        || is_password
            && (COMMON_PASSWORDS.contains(&lower.as_str())
                || is_user(text, found, value)
                || is_local(&text[found.range.end..]))
}

/// Returns whether a value contains eight characters in order, such as `12345678` or `abcdefgh`.
fn has_sequence(value: &str) -> bool {
    let mut run = 1;
    value.as_bytes().windows(2).any(|pair| {
        let follows = pair[1] == pair[0].wrapping_add(1) || pair == b"90";
        run = if follows { run + 1 } else { 1 };
        run >= 8
    })
}

/// Returns whether a URL's password is also its user, as in `postgres:postgres@`.
fn is_user(text: &str, found: &Finding, password: &str) -> bool {
    let before = text[..found.range.start].strip_suffix(':').unwrap_or_default();
    let after = before.strip_suffix(password);
    after.is_some_and(|rest| rest.ends_with("//") || rest.ends_with(' '))
}

/// Returns whether what follows a URL's password is a machine of the developer's.
fn is_local(rest: &str) -> bool {
    let host = rest.strip_prefix('@').unwrap_or_default();
    let hosts = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "host.docker.internal"];
    hosts.iter().any(|local| host.starts_with(local))
        || host
            .split([':', '/', '"', '\'', ' '])
            .next()
            .is_some_and(|name| name.ends_with("example.com"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::answer::Decision;
    use crate::options;
    use crate::sensitive::reason;

    /// Not one in this file, so that no scanner takes it for one.
    const TOKEN: &str = concat!("gh", "p_ibhJpfLfyY8ySQb5NNSa1oOTu7RgaWePU0s8");

    fn place(project: &std::path::Path) -> Place {
        Place { project: project.to_owned(), ..Place::of_tests("/p") }
    }

    fn answer(event: Value, options: &Value) -> Answer {
        let project = event["work_dir"].as_str().unwrap_or("/p").to_owned();
        let options = options::read(options).unwrap();
        decide(&Event::new(event), &options, &place(project.as_ref())).unwrap()
    }

    fn write(content: &str) -> Value {
        json!({"event_type": "before_tool", "tool_name": "WriteFile", "work_dir": "/p",
            "tool_input": {"path": "src/a.rs", "content": content}})
    }

    #[test]
    fn a_write_of_a_secret_is_denied_by_kind_and_line() {
        let denied = answer(write(&format!("one\nlet token = \"{TOKEN}\";\n")), &Value::Null);
        let reason = denied.denied().unwrap();
        assert!(
            reason.starts_with(
                "a secret would be written to `src/a.rs`: github-token in content, line 2; "
            ),
            "{reason}"
        );
        assert!(!reason.contains(TOKEN));
    }

    #[test]
    fn values_that_look_random_are_secrets() {
        for text in [
            "API_KEY=9fK2mQx7Lw3Zr8Tn5Vb1",
            "export STRIPE_SECRET_KEY=9fK2mQx7Lw3Zr8Tn5Vb1",
            "password: \"u7!Kq2#Zp9@Wm4^Xe6\"",
            "  clientSecret: '9fK2mQx7-Lw3Zr8Tn5Vb1',",
            "\"api_key\": \"9fK2mQx7Lw3Zr8Tn5Vb1\"",
            "auth_token := \"9fK2mQx7Lw3Zr8Tn5Vb1\"",
            "DATABASE_URL=postgres://app:k3J9x0Qz@db.internal:5432/app",
        ] {
            assert_eq!(find(text, true).len(), 1, "{text}");
        }
        assert!(find("API_KEY=9fK2mQx7Lw3Zr8Tn5Vb1", false).is_empty());
    }

    #[test]
    fn examples_and_references_are_not() {
        let aws = concat!("AK", "IAIOSFODNN7EXAMPLE");
        let jwt = concat!(
            "ey",
            "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
        );
        let sequence = concat!("gh", "p_1234567890abcdefghijklmnopqrstuvwxyz");
        for text in [
            aws,
            jwt,
            sequence,
            "api_key = \"<token>\"",
            "API_KEY=${API_KEY}",
            "api_key = \"xxxxxxxxxxxxxxxxxxxx\"",
            "password: \"correct-horse-battery-staple\"",
            "token = \"your-token-goes-here-1234\"",
            "const token = getToken(request.headers);",
            "token: \"tests/fixtures/token_2024_01.json\"",
            "secret_name = \"projects/12345/secrets/db-password\"",
            "postgres://postgres:postgres@localhost:5432/app",
            "postgres://app:k3J9x0Qz@localhost/app",
            "mysql://root:secret@db/app",
            "API_KEY=",
            "max_token=4096",
        ] {
            assert_eq!(find(text, true), [], "{text}");
        }
    }

    #[test]
    fn what_the_file_contains_is_not_new() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("env"), format!("TOKEN={TOKEN}\n")).unwrap();
        let mut event = write(&format!("TOKEN={TOKEN}\nMORE=1\n"));
        event["work_dir"] = json!(folder.path());
        assert!(answer(event.clone(), &Value::Null).denied().is_some(), "another file");
        event["tool_input"]["path"] = json!("env");
        assert_eq!(answer(event, &Value::Null), Answer::none());
        let edit = json!({"event_type": "before_tool", "tool_name": "EditFile", "work_dir": "/p",
            "tool_input": {"path": "a", "old": format!("x {TOKEN}"), "new": format!("y {TOKEN}")}});
        assert_eq!(answer(edit, &Value::Null), Answer::none());
    }

    #[test]
    fn commands_prompts_and_outputs() {
        let command = json!({"event_type": "before_tool", "tool_name": "Shell",
            "tool_input": {"command": format!("curl -H 'Authorization: Bearer {TOKEN}' x")}});
        assert!(
            answer(command.clone(), &Value::Null)
                .denied()
                .unwrap()
                .contains("in the call of Shell")
        );
        assert_eq!(answer(command.clone(), &json!({"calls": "off"})), Answer::none());
        let asked = answer(command.clone(), &json!({"calls": "ask"}));
        assert!(
            matches!(asked.decision, Some(Decision::Ask(_))) && !reason(&asked).contains(TOKEN)
        );
        let masked = answer(command, &json!({"calls": "mask"}));
        let command = masked.modified_input["command"].as_str().unwrap();
        assert!(command.contains("[redacted") && !command.contains(TOKEN), "{command}");

        let prompt = json!({"event_type": "before_agent", "prompt": format!("use {TOKEN}")});
        assert!(answer(prompt.clone(), &Value::Null).denied().is_some());
        assert!(answer(prompt, &json!({"prompts": "warn"})).context.is_some());

        let output = json!({"event_type": "after_tool", "tool_name": "Shell",
            "tool_input": {"command": "env"}, "tool_output": {"stdout": format!("A=1\nB={TOKEN}")}});
        let context = answer(output.clone(), &Value::Null).context.unwrap();
        assert!(context.contains("github-token in the output.stdout, line 2"), "{context}");
        assert_eq!(answer(output, &json!({"outputs": "off"})), Answer::none());
    }

    #[test]
    fn what_is_allowed_passes() {
        let event = write(&format!("let token = \"{TOKEN}\";"));
        assert_eq!(answer(event.clone(), &json!({"allow": ["^gh.?_ibh"]})), Answer::none());
        assert_eq!(answer(event.clone(), &json!({"allow_paths": ["^src/"]})), Answer::none());
        assert!(answer(event, &json!({"allow_paths": ["^tests/"]})).denied().is_some());
    }

    #[test]
    fn parts_of_an_edit_are_masked_in_their_place() {
        let event = json!({"event_type": "before_tool", "tool_name": "EditFile",
            "tool_input": {"path": "a", "edits": [{"old": "x", "new": TOKEN}, {"old": "y", "new": "z"}]}});
        let masked = answer(event, &json!({"writes": "mask"})).modified_input;
        assert_eq!(
            Value::Object(masked),
            json!({"edits": [
                {"old": "x", "new": "[redacted github-token]"}, {"old": "y", "new": "z"},
            ]})
        );
    }
}
