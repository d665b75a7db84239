//! Hooks for one start of an agent, passed on its command line and in its environment: its settings
//! files stay unchanged, and what the user and the project have in them runs as well.
//!
//! These are the hooks that `anyhook install` writes, for an agent that does not have them, and
//! additional ones that report with `anyhook emit` that the agent waits for a person.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{HookInvocation, PROGRAM, quoted};

/// The time in seconds that a permission may wait for a person, who is not looking at the agent's
/// own dialog.
pub(crate) const PERMISSION_SECONDS: u64 = 24 * 3600;

/// One start of an agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentStart<'start> {
    /// The agent's id.
    pub agent_id: &'start str,
    /// The folder for the files that are created for it.
    pub folder: &'start Path,
    /// The text of the settings that the injection replaces and includes.
    pub displaced: Option<&'start str>,
    /// How the agent calls us.
    pub call: &'start HookInvocation,
}

/// Settings that an injection replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisplacedSettings {
    /// In a file; a relative path is resolved against the folder in which the agent is started.
    File(PathBuf),
    /// As text.
    Text(String),
}

/// What makes an agent call us for the duration of one start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Injection {
    /// Files to create before it is started, and their texts.
    pub files: BTreeMap<PathBuf, String>,
    /// Arguments for its command line, before those that contain its task.
    pub arguments: Vec<String>,
    /// Its environment variables.
    pub variables: BTreeMap<&'static str, String>,
    /// Why it cannot be made to call us, if so.
    pub why_not: Option<&'static str>,
}

/// What an injected hook reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedSignal {
    /// The agent is done and waits for the next prompt.
    Idle,
    /// The agent asks for permission.
    Permission,
}

impl InjectedSignal {
    /// Returns the arguments with which our program reports this about an agent.
    pub fn arguments(self, agent_id: &str) -> Vec<String> {
        let event = match self {
            Self::Idle => "agent:idle",
            Self::Permission => "agent:prompt",
        };
        let mut arguments = vec!["emit".to_owned(), event.to_owned()];
        if agent_id.starts_with('-') {
            // It would be mistaken for an option.
            arguments.push(format!("--agent={agent_id}"));
        } else {
            arguments.extend(["--agent".to_owned(), agent_id.to_owned()]);
        }
        if self == Self::Permission {
            arguments.extend(["--type", "permission"].map(str::to_owned));
        }
        arguments
    }

    /// Returns the command line for a shell that reports this about an agent.
    pub fn command(self, agent_id: &str, call: &HookInvocation) -> String {
        let arguments = self.arguments(agent_id);
        let words = arguments.iter().map(|argument| quoted(argument));
        [quoted(&call.binary.to_string_lossy())]
            .into_iter()
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns whether a command line reports this, about any agent: nothing but our program and
    /// its arguments.
    pub fn is_told_by(self, command: &str) -> bool {
        let Some(words) = words(command) else { return false };
        let Some((program, arguments)) = words.split_first() else { return false };
        let id = match arguments.get(2).map(String::as_str) {
            Some("--agent") => arguments.get(3).map(String::as_str),
            Some(argument) => argument.strip_prefix("--agent="),
            None => None,
        };
        Path::new(program).file_name().is_some_and(|name| name == PROGRAM)
            && id.is_some_and(|id| self.arguments(id) == arguments)
    }
}

/// Splits a command line into words, if a shell would do nothing but run it: `None` if it contains
/// anything but words, quoted or not.
pub(super) fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            _ if super::is_plain(letter) => word.get_or_insert_default().push(letter),
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    const EMISSIONS: [InjectedSignal; 2] = [InjectedSignal::Idle, InjectedSignal::Permission];

    fn call() -> HookInvocation {
        // Regardless of what answers the events: reports are sent by the full program.
        let small = Some(PathBuf::from("/opt/it's here/anyhook-hook"));
        HookInvocation { binary: PathBuf::from("/opt/it's here/anyhook"), small, folders: None }
    }

    #[test]
    fn commands_are_known_again_and_others_are_not() {
        let idle = InjectedSignal::Idle.command("claude-code:5f3c", &call());
        assert_eq!(idle, r"'/opt/it'\''s here/anyhook' emit agent:idle --agent claude-code:5f3c");
        let prompt = InjectedSignal::Permission.command("a", &call());
        assert!(prompt.ends_with("/anyhook' emit agent:prompt --agent a --type permission"));
        assert!(
            InjectedSignal::Idle.is_told_by(&idle)
                && InjectedSignal::Permission.is_told_by(&prompt)
        );
        assert!(
            !InjectedSignal::Permission.is_told_by(&idle)
                && !InjectedSignal::Idle.is_told_by(&prompt)
        );
        for theirs in [
            "anyhook emit agent:idle --agent a; say done",
            "anyhook emit agent:idle --agent a && x",
            "anyhook emit agent:idle --agent $ID",
            "anyhook emit agent:idle --agent \"a\"",
            "log anyhook emit agent:idle --agent a",
            "anyhook emit agent:idle",
            "anyhook emit agent:idle --agent",
            "anyhook emit agent:idle --agent a --message b",
            "anyhook emit agent:idle --agent 'a",
            "anyhook hook claude-code",
            "anyhook-hook emit agent:idle --agent a",
            "",
        ] {
            assert!(!InjectedSignal::Idle.is_told_by(theirs), "{theirs}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        /// Whatever an agent's id is, a shell passes it on and runs nothing else.
        #[test]
        fn a_shell_reads_what_was_meant(id in "[^\0]{0,12}|-{1,2}[a-z]|a b; touch x|\\$\\(id\\)|'\"`") {
            let printf = HookInvocation::to("/usr/bin/printf");
            for emission in EMISSIONS {
                let ours = HookInvocation::to("anyhook");
                prop_assert!(emission.is_told_by(&emission.command(&id, &ours)));
                // `printf` stands in for our program: it prints each argument with a terminator.
                let command = emission.command(&id, &printf);
                let command = command.replacen("/usr/bin/printf", r"/usr/bin/printf '%s\0'", 1);
                let output = Command::new("/bin/sh").args(["-c", &command]).output().expect("sh");
                let words: Vec<String> = String::from_utf8_lossy(&output.stdout)
                    .split_terminator('\0')
                    .map(str::to_owned)
                    .collect();
                prop_assert_eq!(words, emission.arguments(&id));
            }
        }
    }
}
