//! What the command line of a call says.

use std::ffi::OsString;
use std::time::Duration;

use anyhook_model::{Host, OpenFormat};

/// A call by an agent.
#[expect(missing_debug_implementations, reason = "a host is not shown")]
pub struct Request {
    pub(crate) host: &'static dyn Host,
    pub(crate) deadline: Option<Duration>,
}

impl Request {
    /// Reads the arguments after `hook`; anything unusual is left to the argument parser of
    /// `anyhook`, which explains it.
    pub fn parse(arguments: &[OsString]) -> Option<Self> {
        // More are unusual, and a list on the stack costs nothing.
        let mut words = [""; 3];
        let used = words.get_mut(..arguments.len())?;
        for (word, argument) in used.iter_mut().zip(arguments) {
            *word = argument.to_str()?;
        }
        let (host, deadline) = match *used {
            [host] => (host, None),
            [host, "--deadline-ms", number] | ["--deadline-ms", number, host] => {
                (host, Some(number))
            }
            [host, flag] => (host, Some(flag.strip_prefix("--deadline-ms=")?)),
            _ => return None,
        };
        let deadline = match deadline {
            None => None,
            Some(number) => Some(Duration::from_millis(number.parse().ok()?)),
        };
        Self::new(host, deadline)
    }

    /// Makes a request of a host we speak to.
    pub fn new(host: &str, deadline: Option<Duration>) -> Option<Self> {
        Some(Self { host: find_host(host)?, deadline })
    }
}

/// Returns the host of that name.
pub fn find_host(name: &str) -> Option<&'static dyn Host> {
    if name == OpenFormat.id() {
        return Some(&OpenFormat);
    }
    anyhook_hosts::find_host(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<(&'static str, Option<u64>)> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let request = Request::parse(&words)?;
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
        ] {
            assert_eq!(parsed(line), Some(("codex", Some(540_000))), "{line}");
        }
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
            "--color never codex",
        ] {
            assert_eq!(parsed(line), None, "{line}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_text_is_no_host() {
        use std::os::unix::ffi::OsStringExt;
        assert!(Request::parse(&[OsString::from_vec(vec![0xff])]).is_none());
    }
}
