//! Formats a file after an agent has written it.

use std::fs;
use std::time::Duration;

use anyhook_model::EventKind;
use serde::Deserialize;

use crate::Place;
use crate::answer::Answer;
use crate::event::Event;
use crate::file_tools::{Commands, FileTool, WrittenFile, program};
use crate::options::GuardError;
use crate::shell_command::{Ended, last_lines, run_words};

/// Formatters. One with `{file}` changes the file; any other reads the text and prints it formatted.
/// Those that people disagree about are only used where the project says so.
pub(crate) const FORMATTERS: [FileTool; 8] = [
    FileTool { extensions: &["rs"], command: "rustfmt --quiet --edition {edition}", markers: &[] },
    FileTool { extensions: &["go"], command: "gofmt", markers: &[] },
    FileTool { extensions: &["zig"], command: "zig fmt --stdin", markers: &[] },
    FileTool { extensions: &["tf", "tfvars"], command: "terraform fmt -", markers: &[] },
    FileTool {
        extensions: &["py", "pyi"],
        command: "ruff format --quiet --stdin-filename {path} -",
        markers: &["ruff.toml", ".ruff.toml", "pyproject.toml:[tool.ruff"],
    },
    FileTool {
        extensions: &["py", "pyi"],
        command: "black --quiet --stdin-filename {path} -",
        markers: &["pyproject.toml:[tool.black]"],
    },
    FileTool {
        extensions: &["sh", "bash"],
        command: "shfmt --filename {path}",
        markers: &[".editorconfig"],
    },
    FileTool {
        extensions: &[
            "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "css", "scss", "less",
            "html", "json", "md", "yaml", "yml",
        ],
        command: "prettier --stdin-filepath {path}",
        markers: &[
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.yaml",
            ".prettierrc.yml",
            ".prettierrc.js",
            ".prettierrc.toml",
            "prettier.config.js",
            "prettier.config.mjs",
            "package.json:\"prettier\":",
        ],
    },
];

/// Options of the pack `format-on-write`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FormatOptions {
    commands: Commands,
    timeout_seconds: u64,
}

impl Default for FormatOptions {
    fn default() -> Self {
        Self { commands: Commands::new(), timeout_seconds: 20 }
    }
}

/// Returns the answer to an event: what a formatter changed.
pub fn decide(event: &Event, options: &FormatOptions, place: &Place) -> Result<Answer, GuardError> {
    if event.kind != EventKind::AfterTool {
        return Ok(Answer::none());
    }
    let Some(file) = WrittenFile::of(event, &place.project) else { return Ok(Answer::none()) };
    let limit = Duration::from_secs(options.timeout_seconds);
    let before = fs::read(&file.path).map_err(|error| GuardError::at(&file.path, error))?;
    for words in file.command_lines(&options.commands, &FORMATTERS) {
        let folder = file.path.parent().unwrap_or(&file.project);
        if let Some(ended) = run_words(&words, folder, limit, &before)? {
            let is_in_place = options.is_in_place(&file);
            return settle(&file, program(&words), &before, &ended, is_in_place);
        }
    }
    Ok(Answer::none())
}

impl FormatOptions {
    /// Returns whether the command for a file changes the file itself.
    fn is_in_place(&self, file: &WrittenFile) -> bool {
        let extension = file.path.extension().and_then(|extension| extension.to_str());
        let own =
            extension.and_then(|extension| self.commands.get(&extension.to_ascii_lowercase()));
        own.is_some_and(|command| format!("{command:?}").contains("{file}"))
    }
}

fn settle(
    file: &WrittenFile,
    program: &str,
    before: &[u8],
    ended: &Ended,
    is_in_place: bool,
) -> Result<Answer, GuardError> {
    let shown = &file.shown;
    if !ended.is_success() {
        let why = match ended.status {
            None => "it took too long".to_owned(),
            Some(_) => last_lines(&ended.text(), 10, 2048),
        };
        return Ok(Answer::context(format!("{program} could not format `{shown}`: {why}")));
    }
    let at = |error| GuardError::at(&file.path, error);
    let now = fs::read(&file.path).map_err(at)?;
    let is_changed = if is_in_place {
        now != before
    } else {
        // Nothing is written where the formatter printed nothing, or someone else was faster.
        let is_new = ended.stdout != before && !ended.stdout.is_empty() && now == before;
        if is_new {
            fs::write(&file.path, &ended.stdout).map_err(at)?;
        }
        is_new
    };
    if !is_changed {
        return Ok(Answer::none());
    }
    Ok(Answer::context(format!(
        "{program} reformatted `{shown}` after it was written; read it again before you edit it"
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::options;

    fn format(text: &str, options: &Value) -> (Answer, String) {
        let project = tempfile::tempdir().unwrap();
        let path = project.path().join("a.txt");
        fs::write(&path, text).unwrap();
        let place = Place { project: project.path().to_owned(), ..Place::of_tests("/p") };
        let event = Event::new(
            json!({"event_type": "after_tool", "tool_name": "EditFile", "files": [path]}),
        );
        let answer = decide(&event, &options::read(options).unwrap(), &place).unwrap();
        (answer, fs::read_to_string(path).unwrap())
    }

    #[test]
    fn what_is_printed_or_changed_in_place_is_told() {
        for command in [json!("tr a-z A-Z"), json!(["sed", "-i", "s/.*/\\U&/", "{file}"])] {
            let (answer, text) = format("hello\n", &json!({"commands": {"txt": command}}));
            assert_eq!(text, "HELLO\n");
            assert!(answer.context.unwrap().contains("reformatted `a.txt`"));
            let (answer, _) = format("HELLO\n", &json!({"commands": {"txt": command}}));
            assert_eq!(answer, Answer::none());
        }
    }

    #[test]
    fn a_formatter_that_fails_changes_nothing() {
        let fails = json!({"commands": {"txt": ["sh", "-c", "echo broken; echo 'line 1: no' >&2; exit 1"]}});
        let (answer, text) = format("hello\n", &fails);
        assert_eq!(text, "hello\n");
        assert!(answer.context.unwrap().contains("line 1: no"));
        let silent = json!({"commands": {"txt": "true"}});
        assert_eq!(format("hello\n", &silent), (Answer::none(), "hello\n".to_owned()));
        let missing = json!({"commands": {"txt": "no-such-formatter"}});
        assert_eq!(format("hello\n", &missing), (Answer::none(), "hello\n".to_owned()));
    }
}
