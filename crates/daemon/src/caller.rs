//! Finds the processes a command comes from, and whether one of them is an agent.
//!
//! An agent is recognised, without the daemon and whatever its own environment says,
//!
//! - by an ancestor of the command that is an agent's program;
//! - by an agent's variable in the environment that the command or an ancestor of it was started
//!   with: `env -u` and `env -i` only change that of the next program;
//! - after `env -i setsid -f` or a double fork, which leave neither: by a live agent of the same
//!   user in the same control group that is older than the process which init adopted. It does not
//!   matter which programs are between that process and the command.
//!
//! A command is a person's if it is below the leader of its terminal's session, if init itself
//! started it (it shares init's session), or if no agent is in its control group, as in a service.
//!
//! An agent that starts the command through another service (cron, `systemd-run`, `ssh localhost`),
//! also gives it its own terminal (`script`), or has exited before it runs cannot be distinguished
//! from a person: the same user may do anything. Such a command is journaled with its processes.

use std::fmt;

#[cfg(not(target_os = "linux"))]
use anyhook_model::CallerProcess;

#[cfg(target_os = "linux")]
pub use linux::{agent_above, caller, is_our_program};

/// In test builds, the process with this id and its ancestors are ignored: the tests may run inside
/// an agent themselves.
pub const TOP_PROCESS: &str = "ANYHOOK_TOP_PROCESS";

/// The agent a process comes from, and how it was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallingAgent {
    /// The agent's display name, or the id it was given.
    pub title: String,
    /// How it was recognised.
    pub how: RecognitionMethod,
}

/// How an agent was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecognitionMethod {
    /// It is this process.
    Process(u32),
    /// By this variable in the environment of this process.
    Variable(&'static str, u32),
    /// It is this process, from which the command was detached.
    Detached(u32),
    /// The daemon knows it.
    Daemon,
}

impl fmt::Display for CallingAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, how } = self;
        match how {
            RecognitionMethod::Process(pid) => write!(formatter, "{title} (process {pid})"),
            RecognitionMethod::Variable(name, pid) if *pid == std::process::id() => {
                write!(formatter, "{title} ({name} is set)")
            }
            RecognitionMethod::Variable(name, pid) => {
                write!(formatter, "{title} ({name} is set for process {pid})")
            }
            RecognitionMethod::Detached(pid) => write!(
                formatter,
                "{title} (process {pid} is in the same control group, and nothing else could have started this)"
            ),
            RecognitionMethod::Daemon => write!(formatter, "{title} (known to the daemon)"),
        }
    }
}

/// Without `/proc`, ancestors are not known.
#[cfg(not(target_os = "linux"))]
pub fn agent_above(_pid: u32) -> Option<CallingAgent> {
    None
}

/// Without `/proc`, every process is believed to be what it claims.
#[cfg(not(target_os = "linux"))]
pub fn is_our_program(_pid: u32) -> bool {
    true
}

/// Without `/proc`, only the process id is known.
#[cfg(not(target_os = "linux"))]
pub fn caller(pid: u32) -> CallerProcess {
    CallerProcess { pid, program: None, ancestors: Vec::new() }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    use anyhook_hosts::recognition;
    use anyhook_model::{Ancestor, CallerProcess};

    use super::{CallingAgent, RecognitionMethod};
    use crate::launch;

    /// How many ancestors are examined at most.
    const MOST_ANCESTORS: usize = 256;
    /// How many ancestors of a caller are recorded at most.
    const MOST_KEPT: usize = 16;
    /// The system does not allow a larger environment.
    const ENVIRONMENT_LIMIT: u64 = 8 * 1024 * 1024;
    /// The program and its script are at the beginning of a command line.
    const COMMAND_LIMIT: u64 = 64 * 1024;

    /// Processes that adopt orphans, in addition to process 1.
    const ADOPTERS: [&str; 2] = ["systemd", "init"];

    /// A process as the system shows it.
    #[derive(Debug)]
    struct Process {
        pid: u32,
        parent: u32,
        session: u32,
        terminal: i32,
        started: u64,
        name: String,
        program: Option<PathBuf>,
        arguments: Vec<String>,
    }

    /// Returns the agent that a process comes from, as far as the system can tell.
    pub fn agent_above(pid: u32) -> Option<CallingAgent> {
        let chain = chain(pid);
        chain.iter().find_map(Process::agent).or_else(|| cut_loose_from(&chain))
    }

    /// Returns whether a process runs the same program as this one, from this file or from a copy.
    pub fn is_our_program(pid: u32) -> bool {
        let (theirs, ours) = (format!("/proc/{pid}/exe"), "/proc/self/exe");
        let (Ok(one), Ok(other)) = (fs::metadata(&theirs), fs::metadata(ours)) else {
            return false;
        };
        let is_same_file = (one.dev(), one.ino()) == (other.dev(), other.ino());
        let is_copy = || match (fs::read(&theirs), fs::read(ours)) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        };
        is_same_file || one.len() == other.len() && is_copy()
    }

    /// Returns a process with its program and those above it.
    pub fn caller(pid: u32) -> CallerProcess {
        let chain = chain(pid);
        let program = chain.first().and_then(|process| process.program.as_deref());
        let ancestors = chain.iter().skip(1).take(MOST_KEPT);
        CallerProcess {
            pid,
            program: program.map(|path| path.to_string_lossy().into_owned()),
            ancestors: ancestors
                .map(|process| Ancestor { pid: process.pid, name: process.name.clone() })
                .collect(),
        }
    }

    /// Returns a process and its ancestors, nearest first, up to init.
    fn chain(pid: u32) -> Vec<Process> {
        let top = top_process();
        let is_below = |process: &Process| top.is_none_or(|top| process.pid != top);
        let upwards = std::iter::successors(Process::read(pid), |process| {
            Process::read(process.parent).filter(is_below)
        });
        upwards.take(MOST_ANCESTORS).collect()
    }

    #[cfg(debug_assertions)]
    fn top_process() -> Option<u32> {
        std::env::var(super::TOP_PROCESS).ok()?.parse().ok()
    }

    #[cfg(not(debug_assertions))]
    fn top_process() -> Option<u32> {
        None
    }

    /// Returns the live agent that a detached command comes from.
    fn cut_loose_from(chain: &[Process]) -> Option<CallingAgent> {
        let (adopter, orphans) = chain.split_last()?;
        let first = orphans.last()?;
        let is_adopter = adopter.pid == 1 || ADOPTERS.contains(&adopter.name.as_str());
        // A person types into the leader of a terminal's session.
        let is_at_terminal = orphans.iter().any(|process| {
            process.terminal != 0 && orphans.iter().any(|leader| leader.pid == process.session)
        });
        if !is_adopter || first.session == adopter.session || is_at_terminal {
            return None;
        }
        let (group, user) = (control_group(first.pid)?, user(first.pid)?);
        let agents = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let process = Process::read(pid).filter(|process| process.started <= first.started)?;
            // Others work in a terminal's session, too: only an agent of the same session counts.
            let is_near = first.terminal == 0 || process.session == first.session;
            let is_ours = self::user(pid) == Some(user)
                && control_group(pid).is_some_and(|other| other == group);
            let title = process.own_title().filter(|_| is_near && is_ours)?;
            Some(CallingAgent { title: title.to_owned(), how: RecognitionMethod::Detached(pid) })
        });
        // Any of them will do; the last is most likely the youngest.
        agents.last()
    }

    impl Process {
        fn read(pid: u32) -> Option<Self> {
            let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
            let stat = String::from_utf8_lossy(&stat);
            // The name is in parentheses and may contain parentheses itself.
            let (before, after) = (stat.split_once('(')?.1, stat.rsplit_once(") ")?.1);
            let name = before.rsplit_once(") ")?.0.to_owned();
            let fields: Vec<&str> = after.split(' ').collect();
            let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
            Some(Self {
                pid,
                parent: u32::try_from(number(1)?).ok()?,
                session: u32::try_from(number(3)?).ok()?,
                terminal: fields.get(4)?.parse().ok()?,
                started: number(19)?,
                name,
                program: fs::read_link(format!("/proc/{pid}/exe")).ok(),
                arguments: read(&format!("/proc/{pid}/cmdline"), COMMAND_LIMIT)
                    .split(|byte| *byte == 0)
                    .map(|argument| String::from_utf8_lossy(argument).into_owned())
                    .collect(),
            })
        }

        /// Returns the agent that this process is, or whose variables it was started with.
        fn agent(&self) -> Option<CallingAgent> {
            if let Some(title) = self.own_title() {
                let how = RecognitionMethod::Process(self.pid);
                return Some(CallingAgent { title: title.to_owned(), how });
            }
            if self.is_our_server() {
                return None;
            }
            let environment = read(&format!("/proc/{}/environ", self.pid), ENVIRONMENT_LIMIT);
            let variables = environment.split(|byte| *byte == 0).filter_map(|variable| {
                let (name, value) = std::str::from_utf8(variable).ok()?.split_once('=')?;
                (!value.is_empty()).then_some((name, value))
            });
            let mut found: Option<CallingAgent> = None;
            for (name, value) in variables {
                let (name, title) = if name == launch::AGENT_ID {
                    (launch::AGENT_ID, value)
                } else {
                    let known = recognition::session_variables().find(|known| *known == name);
                    let Some(known) = known else { continue };
                    (known, recognition::agent_of_variable(known).unwrap_or_default())
                };
                let is_better =
                    found.as_ref().is_none_or(|found| rank(name) < rank(variable_of(found)));
                if is_better {
                    let how = RecognitionMethod::Variable(name, self.pid);
                    found = Some(CallingAgent { title: title.to_owned(), how });
                }
            }
            found
        }

        fn own_title(&self) -> Option<&'static str> {
            recognition::agent_of_process(&self.name, self.program.as_deref(), &self.arguments)
        }

        /// Returns whether it is the daemon or one of its helpers: whoever started it, it serves
        /// everyone.
        fn is_our_server(&self) -> bool {
            let is_anyhook = self.program.as_deref().and_then(Path::file_name)
                == Some(std::ffi::OsStr::new("anyhook"));
            is_anyhook && self.arguments.get(1).is_some_and(|argument| argument.starts_with("__"))
        }
    }

    /// Returns the index of a variable in the table: the first identifies the agent best.
    fn rank(name: &str) -> usize {
        recognition::session_variables().position(|known| known == name).unwrap_or(usize::MAX)
    }

    fn variable_of(found: &CallingAgent) -> &'static str {
        if let RecognitionMethod::Variable(name, _) = found.how { name } else { "" }
    }

    /// Reads the beginning of a file; one that cannot be read counts as empty.
    fn read(path: &str, limit: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        // What was read until an error is used.
        let _ = File::open(path).map(|file| file.take(limit).read_to_end(&mut bytes));
        bytes
    }

    fn control_group(pid: u32) -> Option<String> {
        fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()
    }

    fn user(pid: u32) -> Option<u32> {
        Some(fs::metadata(format!("/proc/{pid}")).ok()?.uid())
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_caller_has_its_program_and_those_above() {
        let ours = caller(std::process::id());
        assert_eq!(ours.pid, std::process::id());
        let program = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        assert_eq!(ours.program.as_deref(), Some(program.as_str()));
        assert_eq!(ours.ancestors[0].pid, std::os::unix::process::parent_id());
        assert!(ours.ancestors.len() <= 16);
        let nobody = caller(u32::MAX);
        assert_eq!((nobody.program, nobody.ancestors.len()), (None, 0));
        assert_eq!(agent_above(u32::MAX), None);
        assert!(is_our_program(std::process::id()) && !is_our_program(u32::MAX));
        assert!(!is_our_program(std::os::unix::process::parent_id()));
    }
}
