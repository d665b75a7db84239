//! Tests before the agent stops: only when files changed since they last passed.
//!
//! What changed is told by a digest of all files: the tree of a checkpoint in a git repository,
//! otherwise names, sizes and times. A session that changed nothing is not asked for tests.

mod detect;
mod digest;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhook_model::EventKind;
use serde::{Deserialize, Serialize};

pub use self::detect::test_command;
use crate::answer::Answer;
use crate::event::Event;
use crate::options::GuardError;
use crate::shell_command::{last_lines, run_line};
use crate::{Place, kept};

/// What is remembered is in a file of this name.
const NAME: &str = "tests";
/// At most this many sessions of a project are remembered.
const SESSIONS: usize = 100;
/// At most this many bytes of an output are told.
const OUTPUT: usize = 8 * 1024;

/// Options of the pack `tests-before-stop`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TestOptions {
    command: Option<String>,
    blocks: u32,
    lines: usize,
    timeout_seconds: u64,
}

impl Default for TestOptions {
    fn default() -> Self {
        Self { command: None, blocks: 3, lines: 60, timeout_seconds: 300 }
    }
}

/// What is remembered of a project.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Remembered {
    /// The files with which the tests last passed.
    passing: Option<String>,
    sessions: BTreeMap<String, RememberedSession>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct RememberedSession {
    /// The files with which it began, or with which it was let go.
    start: Option<String>,
    /// How often in a row it was sent back.
    blocks: u32,
    /// When it was last seen, in seconds.
    seen: i64,
}

impl Remembered {
    fn session(&mut self, id: &str, seen: i64) -> &mut RememberedSession {
        while self.sessions.len() >= SESSIONS && !self.sessions.contains_key(id) {
            let oldest = self.sessions.iter().min_by_key(|(_, session)| session.seen);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { break };
            self.sessions.remove(&oldest);
        }
        let session = self.sessions.entry(id.to_owned()).or_default();
        session.seen = seen;
        session
    }
}

/// Returns the answer to an event.
pub fn decide(event: &Event, options: &TestOptions, place: &Place) -> Result<Answer, GuardError> {
    let (id, seen) = (event.session(), place.now.as_second());
    match event.kind {
        EventKind::SessionStart => {
            let start = digest::of_files(&place.project);
            kept::change(place, NAME, |all: &mut Remembered| {
                *all.session(id, seen) = RememberedSession { start: Some(start), blocks: 0, seen };
            })?;
            Ok(Answer::none())
        }
        EventKind::BeforeStop => before_stop(id, options, place),
        _ => Ok(Answer::none()),
    }
}

fn before_stop(id: &str, options: &TestOptions, place: &Place) -> Result<Answer, GuardError> {
    let seen = place.now.as_second();
    let Some(command) = options.command.clone().or_else(|| test_command(&place.project)) else {
        return Ok(Answer::log("no test command: set `command` in the hook's options"));
    };
    let files = digest::of_files(&place.project);
    let is_unchanged = kept::change(place, NAME, |all: &mut Remembered| {
        let is_passing = all.passing.as_ref() == Some(&files);
        is_passing || all.session(id, seen).start.as_ref() == Some(&files)
    })?;
    if is_unchanged {
        return Ok(Answer::log("no files changed since the tests passed or the session began"));
    }
    let limit = Duration::from_secs(options.timeout_seconds);
    let ran = run_line(&command, &place.project, limit, b"")?;
    // Tests may write files, too.
    let files = digest::of_files(&place.project);
    if ran.is_success() {
        kept::change(place, NAME, |all: &mut Remembered| {
            all.session(id, seen).blocks = 0;
            all.passing = Some(files);
        })?;
        return Ok(Answer::log(format!("`{command}` passed")));
    }
    let blocks = kept::change(place, NAME, |all: &mut Remembered| {
        all.passing = None;
        let session = all.session(id, seen);
        session.blocks += 1;
        if session.blocks <= options.blocks {
            return Some(session.blocks);
        }
        // Enough; the same files are not tested again for this session.
        *session = RememberedSession { start: Some(files), blocks: 0, seen };
        None
    })?;
    let Some(blocks) = blocks else {
        let times = options.blocks;
        return Ok(Answer::context(format!(
            "`{command}` still fails after {times} attempts to fix it; the stop is allowed"
        )));
    };
    let how = match ran.status {
        None => format!("did not end within {} seconds", options.timeout_seconds),
        Some(status) => match status.code() {
            Some(code) => format!("failed with exit code {code}"),
            None => format!("failed: {status}"),
        },
    };
    let output = last_lines(&without_escapes(&ran.text()), options.lines, OUTPUT);
    let most = options.blocks;
    Ok(Answer::deny(format!(
        "`{command}` {how}; fix it before you stop (attempt {blocks} of {most})\n\n{output}"
    )))
}

/// Returns a text without the escapes that steer a terminal.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter != '\u{1b}' {
            out.push(letter);
        } else if rest.next() == Some('[') {
            let _ = rest.find(char::is_ascii_alphabetic);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::options;

    struct Sample {
        project: tempfile::TempDir,
        state: tempfile::TempDir,
    }

    impl Sample {
        fn new() -> Self {
            Self { project: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap() }
        }

        fn path(&self, name: &str) -> std::path::PathBuf {
            self.project.path().join(name)
        }

        fn event(&self, kind: &str, session: &str, options: &Value) -> Answer {
            let place = Place {
                project: self.project.path().to_owned(),
                state: Some(self.state.path().to_owned()),
                ..Place::of_tests("/p")
            };
            let event = Event::new(json!({"event_type": kind, "session_id": session}));
            decide(&event, &options::read(options).unwrap(), &place).unwrap()
        }

        fn stop(&self, command: &str) -> Answer {
            self.event("before_stop", "s", &json!({"command": command, "blocks": 2}))
        }

        fn runs(log: &Path) -> usize {
            fs::read_to_string(log).unwrap_or_default().lines().count()
        }
    }

    #[test]
    fn tests_run_only_when_files_changed() {
        let sample = Sample::new();
        let log = sample.state.path().join("log");
        let command = format!("echo run >> {}; test ! -e broken", log.display());
        sample.event("session_start", "s", &Value::Null);
        assert_eq!(sample.stop(&command).denied(), None);
        assert_eq!(Sample::runs(&log), 0, "the session changed nothing");
        fs::write(sample.path("a"), "1").unwrap();
        assert_eq!(sample.stop(&command).denied(), None);
        assert_eq!(sample.stop(&command).denied(), None);
        assert_eq!(Sample::runs(&log), 1, "they passed with these files");
        fs::write(sample.path("broken"), "").unwrap();
        assert!(sample.stop(&command).denied().is_some());
        assert!(sample.stop(&command).denied().is_some());
        assert_eq!(Sample::runs(&log), 3, "they failed with these files");
    }

    #[test]
    fn the_number_of_blocks_is_limited() {
        let sample = Sample::new();
        let command = "echo 'a test failed'; exit 7";
        let first = sample.stop(command);
        assert_eq!(
            first.denied(),
            Some(
                "`echo 'a test failed'; exit 7` failed with exit code 7; fix it before you stop (attempt 1 of 2)\n\na test failed"
            )
        );
        assert!(sample.stop(command).denied().unwrap().contains("(attempt 2 of 2)"));
        let let_go = sample.stop(command);
        assert!(let_go.denied().is_none() && let_go.context.unwrap().contains("still fails"));
        assert!(sample.stop(command).log.unwrap().contains("no files changed"));
        fs::write(sample.path("a"), "1").unwrap();
        assert!(sample.stop(command).denied().unwrap().contains("(attempt 1 of 2)"));
    }

    #[test]
    fn tests_that_take_too_long_block() {
        let sample = Sample::new();
        let options = json!({"command": "echo begun; sleep 600", "timeout_seconds": 0});
        let answer = sample.event("before_stop", "s", &options);
        assert!(answer.denied().unwrap().contains("did not end within 0 seconds"));
    }

    #[test]
    fn without_a_command_nothing_is_asked() {
        let sample = Sample::new();
        let answer = sample.event("before_stop", "s", &Value::Null);
        assert!(answer.log.unwrap().starts_with("no test command"));
    }

    #[test]
    fn sessions_are_forgotten() {
        let mut all = Remembered::default();
        for number in 0..150_i64 {
            all.session(&format!("s{number}"), number);
        }
        assert_eq!(all.sessions.len(), SESSIONS);
        assert!(all.sessions.contains_key("s149") && !all.sessions.contains_key("s49"));
    }

    #[test]
    fn colours_are_left_out() {
        assert_eq!(without_escapes("\u{1b}[1;31mred\u{1b}[0m text"), "red text");
    }
}
