//! The program that Codex runs at the end of a turn (`notify`), for one start of it.
//!
//! It knows one such program, so ours calls the user's own.

use std::path::Path;

use toml_edit::{Array, DocumentMut, Value};

use crate::wiring::{Call, Injection, SettingsError};

/// Runs us, then the user's program, if there is one, with what Codex adds at the end. No word of
/// ours or the user's is part of what the shell reads.
const SCRIPT: &str = r#""$1" emit agent:idle --agent="$2"; shift 2; [ $# -lt 2 ] || exec "$@""#;

pub fn inject(
    agent_id: &str,
    settings: Option<&str>,
    call: &Call,
) -> Result<Option<Injection>, SettingsError> {
    let mut program = Array::new();
    program.extend(["/bin/sh", "-c", SCRIPT, "notify"]);
    program.push(call.binary.to_string_lossy().into_owned());
    program.push(agent_id);
    if let Some(text) = settings {
        program.extend(notify(text)?);
    }
    let setting = format!("notify={}", Value::from(program));
    Ok(Some(Injection::Arguments(vec!["--config".to_owned(), setting])))
}

/// Returns the user's own program.
fn notify(text: &str) -> Result<Vec<String>, SettingsError> {
    let path = || Path::new("config.toml").to_owned();
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        SettingsError::Broken { path: path(), why: error.message().to_owned() }
    })?;
    let Some(item) = document.get("notify") else { return Ok(Vec::new()) };
    let words = item.as_array().and_then(|words| {
        words.iter().map(|word| Some(word.as_str()?.to_owned())).collect::<Option<Vec<_>>>()
    });
    words.ok_or_else(|| SettingsError::Unexpected {
        path: path(),
        what: "`notify`".to_owned(),
        expected: "a list of words",
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    /// Returns what is called with which words, in order: our program and the user's are `echo`.
    fn called(agent_id: &str, settings: Option<&str>) -> String {
        let call = Call { binary: PathBuf::from("/bin/echo") };
        let injection = inject(agent_id, settings, &call).unwrap().unwrap();
        assert_eq!(injection.text(), None);
        let arguments = injection.arguments(Path::new(""));
        assert_eq!(arguments[0], "--config");
        let document: DocumentMut = arguments[1].parse().unwrap();
        let words: Vec<&str> =
            document["notify"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let output = Command::new(words[0]).args(&words[1..]).arg("{\"type\": 1}").output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    #[test]
    fn we_are_called_and_then_the_users_own_program() {
        assert_eq!(called("a", None), "emit agent:idle --agent=a\n");
        assert_eq!(called("a", Some("model = 'x'\n")), "emit agent:idle --agent=a\n");
        let theirs = "# mine\nnotify = [\"/bin/echo\", \"it's me; \"]\n";
        assert_eq!(
            called("a", Some(theirs)),
            "emit agent:idle --agent=a\nit's me;  {\"type\": 1}\n"
        );
    }

    #[test]
    fn an_id_is_one_word_whatever_it_is() {
        for id in ["a b; touch x", "$(id)", "it's \"me\"", "-x", "a\nb\\"] {
            assert_eq!(called(id, None), format!("emit agent:idle --agent={id}\n"));
        }
    }

    #[test]
    fn settings_that_cannot_be_read_are_said() {
        let call = Call { binary: PathBuf::from("/bin/echo") };
        for text in ["notify = 'x'", "notify = [1]", "notify ="] {
            assert!(inject("a", Some(text), &call).is_err(), "{text}");
        }
    }
}
