//! Finds agents that keep their logs elsewhere: those that were started with a variable that names
//! another folder for settings and logs.
//!
//! Only a running agent shows that. Processes are looked at whenever logs are searched for, each
//! once. One with another home folder is not this user's as far as we know: it has its own daemon.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhook_hosts::log::LogRoots;
use anyhook_hosts::recognition::agent_of_process;
use anyhook_hosts::{AGENTS, HostSpec};

/// At most this many other homes are watched.
const HOMES: usize = 32;
/// A longer environment is not read.
const ENVIRONMENT: u64 = 1024 * 1024;

/// The homes of agents that were seen.
#[derive(Debug, Default)]
pub(super) struct AgentHomes {
    /// Processes that were looked at: their ids and names.
    seen: HashSet<(u32, Vec<u8>)>,
    known: Vec<(&'static str, LogRoots)>,
}

impl AgentHomes {
    /// Returns the agents that run with a home that was not seen before.
    pub fn look(&mut self, usual: &LogRoots) -> Vec<(&'static HostSpec, LogRoots)> {
        let mut found = Vec::new();
        let mut running = HashSet::new();
        for pid in processes() {
            let Ok(name) = std::fs::read(format!("/proc/{pid}/comm")) else { continue };
            let process = (pid, name);
            if !self.seen.contains(&process) && self.known.len() < HOMES {
                match self.look_at(pid, &process.1, usual) {
                    Look::NotYet => continue,
                    Look::Done(home) => found.extend(home),
                }
            }
            running.insert(process);
        }
        self.seen = running;
        found
    }

    fn look_at(&mut self, pid: u32, name: &[u8], usual: &LogRoots) -> Look {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        let Ok(line) = std::fs::read(format!("/proc/{pid}/cmdline")) else {
            return Look::Done(None);
        };
        let Some(agent) = agent_of(name, &line, program.as_deref()) else {
            // Threads of the kernel have no words either, and no program.
            let is_starting = line.is_empty() && program.is_some();
            return if is_starting { Look::NotYet } else { Look::Done(None) };
        };
        // Those of other users cannot be read.
        let Some(environment) = environment(pid) else { return Look::Done(None) };
        if environment.is_empty() {
            return Look::NotYet;
        }
        Look::Done(self.new_home(agent, &environment, usual))
    }

    fn new_home(
        &mut self,
        agent: &'static HostSpec,
        environment: &[u8],
        usual: &LogRoots,
    ) -> Option<(&'static HostSpec, LogRoots)> {
        let homes = homes_of(agent, environment, usual)?;
        let is_known = homes == *usual
            || self.known.iter().any(|(id, known)| *id == agent.id() && *known == homes);
        if is_known {
            return None;
        }
        self.known.push((agent.id(), homes.clone()));
        Some((agent, homes))
    }
}

/// What came of looking at a process.
enum Look {
    /// It is being replaced by its program: its name is there, its words or its environment are not.
    NotYet,
    Done(Option<(&'static HostSpec, LogRoots)>),
}

/// The agent that a process is, if it writes logs.
fn agent_of(name: &[u8], line: &[u8], program: Option<&Path>) -> Option<&'static HostSpec> {
    let name = String::from_utf8_lossy(name);
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let arguments: Vec<String> =
        words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let title = agent_of_process(name.trim_end(), program, &arguments)?;
    AGENTS.into_iter().find(|agent| agent.title == title && agent.log.is_some())
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn environment(pid: u32) -> Option<Vec<u8>> {
    use std::io::Read;

    let file = std::fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut bytes = Vec::new();
    file.take(ENVIRONMENT).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns where an agent with an environment keeps its logs; `None` if it has another home folder.
fn homes_of(agent: &HostSpec, environment: &[u8], usual: &LogRoots) -> Option<LogRoots> {
    let variables: BTreeMap<&[u8], &[u8]> = environment
        .split(|byte| *byte == 0)
        .filter_map(|line| {
            let at = line.iter().position(|byte| *byte == b'=')?;
            Some((&line[..at], &line[at + 1..]))
        })
        .collect();
    let folder = |name: &str| {
        let value = variables.get(name.as_bytes()).filter(|value| value.starts_with(b"/"))?;
        Some(PathBuf::from(String::from_utf8_lossy(value).into_owned()))
    };
    let mut homes = usual.clone();
    if folder("HOME").is_some_and(|home| home != usual.home) {
        return None;
    }
    for name in agent.protocol.folder_variables {
        match folder(name) {
            Some(value) => drop(homes.variables.insert(name, value)),
            None => drop(homes.variables.remove(name)),
        }
    }
    Some(homes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use super::*;

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }

    /// They are looked at while they start, too, when their environment is not there yet.
    #[test]
    fn agents_with_other_homes_are_found_once_each() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("codex");
        std::fs::copy("/bin/sleep", &program).unwrap();
        let others: BTreeSet<PathBuf> =
            (0..24).map(|number| folder.path().join(format!("other-{number}"))).collect();
        let usual = LogRoots { home: "/home/user".into(), ..LogRoots::default() };
        let mut homes = AgentHomes::default();
        let mut look = || {
            let found = homes.look(&usual).into_iter().filter_map(|(agent, roots)| {
                let home = roots.variables.get("CODEX_HOME")?;
                others.contains(home).then(|| (home.clone(), agent.id(), roots.home))
            });
            found.collect::<Vec<_>>()
        };
        let agents = {
            let others = others.clone();
            std::thread::spawn(move || {
                let start = |home: &PathBuf| {
                    let mut command = Command::new(&program);
                    command.arg("600").env_clear().env("HOME", "/home/user");
                    Ended(command.env("CODEX_HOME", home).spawn().unwrap())
                };
                others.iter().map(start).collect::<Vec<_>>()
            })
        };
        let mut found = Vec::new();
        let start = Instant::now();
        while found.len() < others.len() {
            found.extend(look());
            assert!(start.elapsed() < Duration::from_secs(60), "found {found:?}");
            std::thread::yield_now();
        }
        let _agents = agents.join().unwrap();
        found.extend(look());
        found.sort();
        let each = others.iter().map(|home| (home.clone(), "codex", "/home/user".into()));
        assert_eq!(found, each.collect::<Vec<_>>());
    }

    #[test]
    fn what_is_not_named_is_as_usual() {
        let usual = LogRoots { home: "/h".into(), variables: [("CODEX_HOME", "/c".into())].into() };
        let codex = anyhook_hosts::find("codex").unwrap();
        let of = |text: &str| homes_of(codex, text.replace(' ', "\0").as_bytes(), &usual);
        assert_eq!(of("CODEX_HOME=/c HOME=/h PATH=/x"), Some(usual.clone()));
        assert_eq!(of("HOME=/h").unwrap().variables, BTreeMap::new());
        assert_eq!(of("CODEX_HOME=/d").unwrap().variables["CODEX_HOME"], PathBuf::from("/d"));
        assert_eq!(of("HOME=/elsewhere CODEX_HOME=/d"), None);
    }
}
