//! Checks a file after an agent has written it.

use std::time::Duration;

use anyhook_model::EventKind;
use serde::Deserialize;

use crate::Place;
use crate::answer::Answer;
use crate::event::Event;
use crate::file_tools::{Commands, FileTool, WrittenFile, program};
use crate::options::GuardError;
use crate::shell_command::{last_lines, run_words};

/// At most this many bytes of findings are told.
const OUTPUT: usize = 6 * 1024;

/// Linters that check one file in a moment.
pub(crate) const LINTERS: [FileTool; 7] = [
    FileTool {
        extensions: &["py", "pyi"],
        command: "ruff check --quiet --output-format concise {file}",
        markers: &[],
    },
    FileTool { extensions: &["py"], command: "pyflakes {file}", markers: &[] },
    FileTool {
        extensions: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "vue"],
        command: "eslint {file}",
        markers: &[
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            "eslint.config.ts",
            ".eslintrc",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.json",
            ".eslintrc.yml",
        ],
    },
    FileTool {
        extensions: &["sh", "bash"],
        command: "shellcheck --format gcc {file}",
        markers: &[],
    },
    FileTool {
        extensions: &["yaml", "yml"],
        command: "yamllint --format parsable {file}",
        markers: &[".yamllint", ".yamllint.yaml", ".yamllint.yml"],
    },
    FileTool { extensions: &["php"], command: "php -l {file}", markers: &[] },
    FileTool { extensions: &["rb"], command: "ruby -c {file}", markers: &[] },
];

/// How findings are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Feedback {
    /// As a reason that the agent has to deal with.
    Block,
    /// As context.
    Context,
}

/// Options of the pack `lint-on-write`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LintOptions {
    commands: Commands,
    feedback: Feedback,
    lines: usize,
    timeout_seconds: u64,
}

impl Default for LintOptions {
    fn default() -> Self {
        Self {
            commands: Commands::new(),
            feedback: Feedback::Block,
            lines: 30,
            timeout_seconds: 30,
        }
    }
}

/// Returns the answer to an event: what a linter found.
pub fn decide(event: &Event, options: &LintOptions, place: &Place) -> Result<Answer, GuardError> {
    if event.kind != EventKind::AfterTool {
        return Ok(Answer::none());
    }
    let Some(file) = WrittenFile::of(event, &place.project) else { return Ok(Answer::none()) };
    let limit = Duration::from_secs(options.timeout_seconds);
    for words in file.command_lines(&options.commands, &LINTERS) {
        let Some(ended) = run_words(&words, &file.project, limit, b"")? else { continue };
        let (program, shown) = (program(&words), &file.shown);
        if ended.status.is_none() {
            return Ok(Answer::log(format!("{program} took too long")));
        }
        let findings = last_lines(&ended.text(), options.lines, OUTPUT);
        if ended.is_success() || findings.is_empty() {
            return Ok(Answer::none());
        }
        let findings = findings.replace(&file.path.display().to_string(), shown);
        let text = format!(
            "{program} found problems in `{shown}`; fix those that you caused\n\n{findings}"
        );
        return Ok(match options.feedback {
            Feedback::Block => Answer::deny(text),
            Feedback::Context => Answer::context(text),
        });
    }
    Ok(Answer::none())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;
    use crate::options;

    fn lint(options: &Value) -> Answer {
        let project = tempfile::tempdir().unwrap();
        let path = project.path().join("a.txt");
        fs::write(&path, "x\n").unwrap();
        let place = Place { project: project.path().to_owned(), ..Place::of_tests("/p") };
        let event = Event::new(
            json!({"event_type": "after_tool", "tool_name": "WriteFile", "files": [path]}),
        );
        decide(&event, &options::read(options).unwrap(), &place).unwrap()
    }

    #[test]
    fn findings_are_feedback() {
        let finds = json!(["sh", "-c", "echo \"$0:1: wrong\"; exit 1", "{file}"]);
        let answer = lint(&json!({"commands": {"txt": finds}}));
        let wanted = "sh found problems in `a.txt`; fix those that you caused\n\na.txt:1: wrong";
        assert_eq!(answer.denied(), Some(wanted));
        let answer = lint(&json!({"commands": {"txt": finds}, "feedback": "context"}));
        assert_eq!(answer.context.as_deref(), Some(wanted));
    }

    #[test]
    fn without_findings_nothing_is_said() {
        for command in ["true", "false", "no-such-linter"] {
            assert_eq!(lint(&json!({"commands": {"txt": command}})), Answer::none(), "{command}");
        }
    }
}
