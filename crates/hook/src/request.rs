//! Parses the command line of a hook call.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhook_engine::places::FolderOverrides;
use anyhook_model::{Host, OpenFormat};

/// A call by an agent.
#[expect(missing_debug_implementations, reason = "a host is not shown")]
pub struct HookCall {
    pub(crate) host: &'static dyn Host,
    /// When the call began: the deadline counts from here.
    pub(crate) began: Instant,
    pub(crate) deadline: Option<Duration>,
    pub(crate) folders: FolderOverrides,
    is_tool_event: bool,
    /// Whether it is from a package among the agent's plugins, not from its settings.
    pub(crate) is_from_plugin: bool,
}

impl HookCall {
    /// Parses the arguments after `hook`; anything unusual is left to the argument parser of
    /// `anyhook`, which explains it.
    pub fn parse(arguments: &[OsString]) -> Option<Self> {
        let mut host = None;
        let mut deadline = None;
        let mut folders = FolderOverrides::default();
        let mut is_tool_event = false;
        let mut is_from_plugin = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let word = word.to_str()?;
            let folder = match word {
                "--deadline-ms" => {
                    deadline = Some(words.next()?.to_str()?);
                    continue;
                }
                "--tool-event" => {
                    is_tool_event = true;
                    continue;
                }
                "--plugin" => {
                    is_from_plugin = true;
                    continue;
                }
                "--home" => &mut folders.home,
                "--config" => &mut folders.config,
                "--state" => &mut folders.state,
                _ => {
                    match word.strip_prefix("--deadline-ms=") {
                        Some(number) => deadline = Some(number),
                        None if word.starts_with('-') || host.is_some() => return None,
                        None => host = Some(word),
                    }
                    continue;
                }
            };
            // A relative path would mean a different folder each time, depending on where the agent
            // is.
            let path = Path::new(words.next()?);
            if !path.is_absolute() || folder.replace(path.to_owned()).is_some() {
                return None;
            }
        }
        let deadline = match deadline {
            None => None,
            Some(number) => Some(Duration::from_millis(number.parse().ok()?)),
        };
        Some(Self { folders, is_tool_event, is_from_plugin, ..Self::new(host?, deadline)? })
    }

    /// Returns the time left until the deadline.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_sub(self.began.elapsed()))
    }

    /// Creates a call of a known host. Its deadline counts from now.
    pub fn new(host: &str, deadline: Option<Duration>) -> Option<Self> {
        let host = find_host(host)?;
        let began = Instant::now();
        let folders = FolderOverrides::default();
        let (is_tool_event, is_from_plugin) = (false, false);
        Some(Self { host, began, deadline, folders, is_tool_event, is_from_plugin })
    }

    /// Makes named folders override the environment.
    #[must_use]
    pub fn with_folders(self, folders: FolderOverrides) -> Self {
        Self { folders, ..self }
    }

    /// Sets whether the event is a tool event.
    #[must_use]
    pub fn of_tool(self, is_tool_event: bool) -> Self {
        Self { is_tool_event, ..self }
    }

    /// Sets whether the call is from a package among the agent's plugins.
    #[must_use]
    pub fn from_plugin(self, is_from_plugin: bool) -> Self {
        Self { is_from_plugin, ..self }
    }

    /// Returns whether the event may be a tool call, before it is read: an installed entry names
    /// our folders, and says so if it is one.
    pub(crate) fn may_be_tool_call(&self) -> bool {
        self.is_tool_event || self.folders.state.is_none()
    }
}

/// Returns the host with that name.
pub fn find_host(name: &str) -> Option<&'static dyn Host> {
    if name == OpenFormat.id() {
        return Some(&OpenFormat);
    }
    anyhook_hosts::find_host(name)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn parsed(line: &str) -> Option<(&'static str, Option<u64>)> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let request = HookCall::parse(&words)?;
        let deadline = request.deadline.map(|deadline| deadline.as_millis().try_into().unwrap());
        Some((request.host.id(), deadline))
    }

    #[test]
    fn the_usual_ways_of_calling_are_read() {
        assert_eq!(parsed("agent-hooks"), Some(("agent-hooks", None)));
        for line in [
            "codex --deadline-ms 540000",
            "--deadline-ms 540000 codex",
            "codex --deadline-ms=540000",
            "codex --deadline-ms 540000 --home /h --config /c --state /s --tool-event",
            "codex --deadline-ms 540000 --plugin --tool-event",
        ] {
            assert_eq!(parsed(line), Some(("codex", Some(540_000))), "{line}");
        }
    }

    #[test]
    fn folders_and_kind_are_read() {
        let words = "codex --deadline-ms 5 --home /h --config /c/agents --state /s --tool-event";
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        let request = HookCall::parse(&words).unwrap();
        let folder = |path: &str| Some(PathBuf::from(path));
        let folders = FolderOverrides {
            home: folder("/h"),
            config: folder("/c/agents"),
            state: folder("/s"),
        };
        assert_eq!(request.folders, folders);
        assert!(request.may_be_tool_call());
        let prompt = HookCall::parse(&words[..words.len() - 1]).unwrap();
        assert!(!prompt.may_be_tool_call(), "an installed entry says if it is for tools");
        let plain = HookCall::parse(&words[..1]).unwrap();
        assert_eq!(plain.folders, FolderOverrides::default());
        assert!(!plain.is_from_plugin);
        let words = ["codex", "--plugin"].map(OsString::from);
        assert!(HookCall::parse(&words).unwrap().is_from_plugin);
        assert!(plain.may_be_tool_call(), "nothing is known of it");
    }

    #[test]
    fn anything_unusual_is_left_to_the_argument_parser() {
        for line in [
            "",
            "nobody",
            "--help",
            "codex --help",
            "codex --deadline-ms",
            "codex --deadline-ms x",
            "codex --deadline-ms -1",
            "codex --deadline-ms= 5",
            "codex --deadline-ms 5 --color never",
            "codex gemini-cli",
            "codex --state",
            "codex --state relative",
            "codex --state /a --state /b",
            "codex --tool-event=yes",
            "--color never codex",
        ] {
            assert_eq!(parsed(line), None, "{line}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_text_is_no_host() {
        use std::os::unix::ffi::OsStringExt;
        assert!(HookCall::parse(&[OsString::from_vec(vec![0xff])]).is_none());
    }
}
