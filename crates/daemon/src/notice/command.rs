//! Runs the person's notification program. It gets the notice as JSON on standard input and in its
//! environment; no part of it is ever put into a shell command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhook_engine::run::{ProcessCommand, ProcessRunner};
use anyhook_engine::settings::NotifyCommand;
use anyhook_model::notice::{Channel, DeliveryResult};
use anyhook_model::{Notice, RunOutcome};

use super::text;

/// Runs the person's program.
pub fn run(told: &NotifyCommand, notice: &Notice, limit: Duration) -> DeliveryResult {
    let (program, arguments): (&str, Vec<OsString>) = match told {
        NotifyCommand::Line(line) => ("sh", vec!["-c".into(), line.into()]),
        NotifyCommand::Program(words) => match words.split_first() {
            Some((program, arguments)) => (program, arguments.iter().map(Into::into).collect()),
            None => {
                return DeliveryResult::failed(
                    Channel::Command,
                    "the command does not name a program",
                );
            }
        },
    };
    let input = serde_json::to_string(notice).unwrap_or_default();
    let command = ProcessCommand::of_program(
        program.into(),
        arguments,
        PathBuf::from("/"),
        environment(notice),
    );
    let result = ProcessRunner::default().run(&command, &input, limit);
    match failure(&result.outcome, &result.stderr) {
        None => DeliveryResult::delivered(Channel::Command),
        Some(why) => DeliveryResult::failed(Channel::Command, why),
    }
}

/// Returns why a run failed.
pub fn failure(outcome: &RunOutcome, stderr: &str) -> Option<String> {
    // Processes that it left running are not a failed delivery.
    let how = match outcome.exit_code() {
        Some(0) => return None,
        Some(code) => format!("exit {code}"),
        None => outcome.to_string(),
    };
    let said = text::line(stderr, text::TITLE);
    Some(if said.is_empty() { how } else { format!("{how}: {said}") })
}

fn environment(notice: &Notice) -> Vec<(OsString, OsString)> {
    let decision = notice.decision.as_ref().map_or("", |id| id.as_str());
    [
        ("ID", notice.id.as_str()),
        ("KIND", notice.kind.name()),
        ("AGENT", &notice.agent),
        ("TITLE", &notice.title),
        ("BODY", &notice.body),
        ("DECISION", decision),
        ("URL", notice.url.as_deref().unwrap_or("")),
    ]
    .into_iter()
    // A variable cannot contain a NUL.
    .map(|(name, value)| (format!("ANYHOOK_NOTICE_{name}").into(), value.replace('\0', "").into()))
    .collect()
}
