//! Error messages and exit codes: what failed, which input, the cause, then `hint:` with the next
//! step.

pub mod usage;
#[cfg(feature = "workflow")]
pub mod workflow;

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhook_engine::problem::nearest;
use anyhook_engine::trust::TrustError;
use anyhook_guards::GuardError;
use anyhook_hosts::wiring::SettingsError;
use anyhook_model::exit_code;
use anyhook_replay::ReplayError;
use anyhook_setup::import::ImportError;
use anyhook_setup::packs::{PackError, PackErrorKind};
use anyhook_setup::{SetupError, settings};

use crate::ui::{Out, Tone};

/// The most common reasons why files cannot be read or written.
const RIGHTS_OR_SPACE: &str = "check the folder's permissions and free disk space";

/// Why a command ends early.
#[derive(Debug)]
pub struct CommandError {
    code: u8,
    message: String,
    hint: Option<String>,
    /// Findings, formatted, that come before the message.
    drawn: Vec<String>,
}

impl CommandError {
    /// The command was used in an invalid way.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: exit_code::USAGE, message: message.into(), hint: None, drawn: Vec::new() }
    }

    /// The input cannot be used.
    pub fn input(message: impl Into<String>) -> Self {
        Self {
            code: exit_code::UNUSABLE_INPUT,
            message: message.into(),
            hint: None,
            drawn: Vec::new(),
        }
    }

    /// The command failed.
    pub fn problem(message: impl Into<String>) -> Self {
        Self { code: exit_code::PROBLEM, message: message.into(), hint: None, drawn: Vec::new() }
    }

    /// The command failed at a file.
    pub fn at(path: &Path, error: impl Display) -> Self {
        Self::problem(format!("cannot access `{}`: {error}", path.display())).hint(RIGHTS_OR_SPACE)
    }

    /// There is no journal, because there is no home folder.
    pub fn no_journal() -> Self {
        Self::problem("no state folder, so there is no journal").hint("set HOME")
    }

    /// Adds the next step.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds findings, formatted, that come before the message.
    pub fn drawn(mut self, drawn: Vec<String>) -> Self {
        self.drawn = drawn;
        self
    }

    /// Returns what failed, without the next step.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the next step, if there is one.
    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Prints the error and returns the exit code.
    pub fn tell(self) -> ExitCode {
        let mut stderr = Out::stderr();
        for finding in &self.drawn {
            let _ = stderr.text(finding);
            let _ = stderr.gap();
        }
        // If not even that can be written, the exit code has to do.
        let _ = stderr
            .line(&[(Tone::Bad, "error: "), (Tone::Plain, &without_error_numbers(&self.message))]);
        if let Some(hint) = &self.hint {
            let _ = stderr.line(&[(Tone::Hint, "hint: "), (Tone::Plain, hint)]);
        }
        ExitCode::from(self.code)
    }
}

/// Returns a message without the numbers of the system's errors: their words say it.
fn without_error_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.parse::<u32>().is_ok() => text.push_str(rest),
            _ => text.extend([" (os error ", part]),
        }
    }
    text
}

impl Display for CommandError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // The reader of our output has closed it, as `head` does.
            return Self {
                code: exit_code::OK,
                message: String::new(),
                hint: None,
                drawn: Vec::new(),
            };
        }
        Self::problem(error.to_string())
    }
}

impl From<TrustError> for CommandError {
    fn from(error: TrustError) -> Self {
        let hint = match &error {
            TrustError::LinkOut(_) => "copy what it points to into the hook's folder",
            TrustError::NotAFile(_) => "remove it: a hook may only contain files",
            TrustError::TooLarge(_) => "keep only what the hook needs in its folder",
            TrustError::Io { .. } => RIGHTS_OR_SPACE,
        };
        Self::problem(error.to_string()).hint(hint)
    }
}

impl From<SettingsError> for CommandError {
    fn from(error: SettingsError) -> Self {
        let hint = match &error {
            SettingsError::Broken { .. } => {
                "nothing was changed; fix the file or move it away, then try again"
            }
            SettingsError::Unexpected { .. } => {
                "nothing was changed: anyhook does not recognize this format; check it first"
            }
            SettingsError::Taken { .. } => {
                "nothing was changed; give the file another name, then try again"
            }
        };
        Self::problem(error.to_string()).hint(hint)
    }
}

impl From<GuardError> for CommandError {
    fn from(error: GuardError) -> Self {
        let message = error.to_string();
        match error {
            GuardError::Options(_) => Self::input(message)
                .hint("fix `metadata.options` in the hook's HOOK.md; its text lists the options"),
            GuardError::File { .. } => Self::problem(message).hint(RIGHTS_OR_SPACE),
            GuardError::NoState => Self::problem(message).hint("set HOME"),
            GuardError::Program { .. } | GuardError::Failed(_) => Self::problem(message),
        }
    }
}

impl From<SetupError> for CommandError {
    fn from(error: SetupError) -> Self {
        let message = error.to_string();
        let hint = match error {
            SetupError::Trust(error) => return error.into(),
            SetupError::Settings(error) => return error.into(),
            SetupError::Pack(error) => return error.into(),
            SetupError::Import(error) => {
                let error_of = match error {
                    ImportError::UnknownFormat(_) => Self::usage,
                    _ => Self::problem,
                };
                return match error.hint() {
                    Some(hint) => error_of(message).hint(hint),
                    None => error_of(message),
                };
            }
            SetupError::UnknownAgent(name) => {
                return Self::usage(message).hint(match settings::nearest_agent(&name) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("available: {}", settings::ids()),
                });
            }
            SetupError::NoHooks { refusal, .. } => {
                return Self::usage(message).hint(refusal.way_out);
            }
            SetupError::UnknownPack { name, known } => {
                return Self::input(message).hint(
                    match nearest(&name, known.iter().map(String::as_str)) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("available: {}", known.join(", ")),
                    },
                );
            }
            SetupError::UnknownHook(_) => {
                return Self::input(message).hint("`anyhook list` shows installed hooks");
            }
            SetupError::NoShadow(_) => {
                let hint = "write `mode: shadow` into the front matter of its HOOK.md first";
                return Self::input(message).hint(hint);
            }
            SetupError::NoPlainMode(_) => {
                "set `mode: enforce` there yourself, then run: anyhook check"
            }
            SetupError::NothingToUndo => "`anyhook init` sets this machine up",
            SetupError::ChangedSince(_) => {
                "nothing was undone; `anyhook remove pack/NAME` removes one with your changes and keeps a copy, then undo the rest"
            }
            SetupError::BrokenRecord { .. } => {
                "nothing was undone; `anyhook uninstall` and `anyhook remove pack/NAME` remove what is there"
            }
            SetupError::NoProgram => return Self::problem(message),
            SetupError::NoHome | SetupError::NoState => "set HOME",
            SetupError::NoUserLevel => "set HOME, or use --project",
            SetupError::NotAFile(_) => "nothing was changed; move it away, then try again",
            SetupError::DanglingLink(_) => "fix or remove the link",
            SetupError::Unreadable { .. } => {
                "nothing was changed; check the file and its permissions"
            }
            SetupError::Unwritable { .. } => {
                "nothing in it was changed; check the permissions of the file and its folder"
            }
            SetupError::PathNotRecorded { .. } => {
                "no agent's settings were changed; check the permissions of the state folder"
            }
            SetupError::NotAdded { .. } => {
                "nothing was added; check the folder's permissions and free disk space"
            }
            SetupError::Unusable { .. } => RIGHTS_OR_SPACE,
        };
        Self::problem(message).hint(hint)
    }
}

impl From<PackError> for CommandError {
    fn from(error: PackError) -> Self {
        let message = error.to_string();
        let ended = match error.kind() {
            PackErrorKind::Usage => Self::usage(message),
            PackErrorKind::Input => Self::input(message),
            PackErrorKind::Problem => Self::problem(message),
        };
        ended.hint(error.hint())
    }
}

impl From<ReplayError> for CommandError {
    fn from(error: ReplayError) -> Self {
        let message = error.to_string();
        match error {
            ReplayError::Journal { .. } | ReplayError::Unusable { .. } => {
                Self::problem(message).hint(RIGHTS_OR_SPACE)
            }
            ReplayError::UnreadableTranscript { place, .. }
            | ReplayError::EmptyTranscript { place, .. } => {
                Self::input(message).hint(format!("transcripts are in {place}"))
            }
            ReplayError::NotProtected(_) => Self::problem(message).hint(
                "--unprotected tries the hooks without a sandbox; they can then really use the network and \
                 change files",
            ),
            ReplayError::LeadsOut(_) | ReplayError::NoTranscripts => Self::input(message),
            ReplayError::Io(error) => error.into(),
        }
    }
}

impl CommandError {
    /// Returns whether the error is about the arguments or the input: nothing was done.
    pub fn is_about_input(&self) -> bool {
        matches!(self.code, exit_code::USAGE | exit_code::UNUSABLE_INPUT)
    }

    /// Returns whether there is nothing to print.
    pub fn is_silent(&self) -> bool {
        self.code == exit_code::OK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_left_out_and_nothing_else() {
        for (message, shown) in [
            ("`a`: Not a directory (os error 20)", "`a`: Not a directory"),
            ("no (os error 2), and no (os error 13): b", "no, and no: b"),
            ("`a (os error b)`: (os error 2", "`a (os error b)`: (os error 2"),
        ] {
            assert_eq!(without_error_numbers(message), shown);
        }
    }
}
