//! Finds the commands that an agent is running: one that a person is still asked about was allowed
//! on the agent's own screen, which its host does not report before the command has ended.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhook_engine::process_name;
use anyhook_engine::run::descendants::children_of;
use anyhook_model::{Host, ProcessName};
use jiff::Timestamp;

/// How many levels of shells are examined, since a shell of the agent may start another one;
/// nothing that a command starts itself is examined.
const DEPTH: usize = 3;
/// Maximum number of processes examined.
const MOST: usize = 512;
/// A longer command may have been shortened: only this much of it is compared.
const COMPARED: usize = 200;
/// Resolution of process start times.
const TICK: Duration = Duration::from_millis(20);

/// The shell commands below a process, without whitespace and quotes, each with its age.
#[derive(Debug, Default)]
pub struct RunningCommands(Vec<(String, Duration)>);

impl RunningCommands {
    /// Finds the commands below an agent's process.
    pub fn below(agent: &ProcessName, host: &dyn Host) -> Self {
        // The process id may have been reused, or belong to another namespace.
        if process_name::of(agent.pid).as_ref() != Some(agent) {
            return Self::default();
        }
        let (mut found, mut below, mut left) = (Vec::new(), vec![agent.pid], MOST);
        for _ in 0..DEPTH {
            below = below.into_iter().flat_map(children_of).take(left).collect();
            left -= below.len();
            below.retain(|pid| {
                let words = words(*pid);
                // What a hook runs is not run by the agent.
                let is_agents = !is_ours(&words);
                let command = shell_argument(&words).and_then(|text| host.running_command(text));
                found.extend(command.filter(|_| is_agents).map(bare).zip(age(*pid)));
                is_agents
            });
        }
        Self(found)
    }

    /// Returns whether this command is among them and was started after `since`.
    pub fn has(&self, command: &str, since: Timestamp) -> bool {
        let asked = anyhook_engine::now().duration_since(since);
        let Ok(longest) = Duration::try_from(asked).map(|asked| asked + TICK) else { return false };
        let is_whole = command.chars().count() <= COMPARED;
        let wanted = bare(&command.chars().take(COMPARED).collect::<String>());
        let is_it = |(running, age): &(String, Duration)| {
            let is_same = if is_whole { *running == wanted } else { running.starts_with(&wanted) };
            is_same && *age <= longest
        };
        !wanted.is_empty() && self.0.iter().any(is_it)
    }
}

/// Returns the command that a shell was started with.
fn shell_argument(words: &[String]) -> Option<&String> {
    let is_flag = |word: &String| word.starts_with('-') && !word.starts_with("--");
    let place = words.iter().position(|word| is_flag(word) && word.contains('c'))?;
    words[place + 1..].iter().find(|word| !word.starts_with('-'))
}

/// Returns a text without what quoting changes: whitespace, quotes, backslashes.
fn bare(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace() && !"'\"\\".contains(*letter)).collect()
}

fn is_ours(words: &[String]) -> bool {
    let program = words.first().and_then(|word| Path::new(word).file_name());
    program.is_some_and(|name| name.as_encoded_bytes().starts_with(b"anyhook"))
}

/// Returns the arguments that a process was started with.
fn words(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.trim_end_matches('\0').split('\0').map(str::to_owned).collect()
}

/// Returns how long ago a process was started.
fn age(pid: u32) -> Option<Duration> {
    let process = process_name::of(pid)?;
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let started = Duration::from_millis(process.started.saturating_mul(1000) / ticks);
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Some(Duration::try_from(now).ok()?.saturating_sub(started))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Child, Command, Stdio};

    use anyhook_hosts::claude_code::PROTOCOL;
    use jiff::SignedDuration;

    use super::*;

    /// A shell that, when told to, runs a command in another shell, as agents do.
    struct Agent(Child);

    impl Agent {
        fn start(script: &str) -> Self {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null());
            Self(command.spawn().unwrap())
        }

        fn name(&self) -> ProcessName {
            process_name::of(self.0.id()).unwrap()
        }

        fn go_on(&mut self) {
            use std::io::Write as _;
            self.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        }
    }

    impl Drop for Agent {
        fn drop(&mut self) {
            // The inner shell exits at the end of its input.
            drop(self.0.stdin.take());
            let _ = self.0.wait();
        }
    }

    fn comes_true(test: impl Fn() -> bool) -> bool {
        let end = std::time::Instant::now() + Duration::from_secs(30);
        while std::time::Instant::now() < end {
            if test() {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }

    #[test]
    fn a_command_is_found_once_it_runs() {
        let inner =
            r#"read -r go; /bin/sh -c "true && eval 'read -r end' && pwd -P >| /dev/null"; true"#;
        let mut agent = Agent::start(inner);
        let (name, asked) = (agent.name(), anyhook_engine::now());
        let below = |name| RunningCommands::below(name, &PROTOCOL);
        let has = |command: &str, since| below(&name).has(command, since);
        let command = "read  -r \"end\"";
        assert!(!has(command, asked), "the agent's own words do not count");
        agent.go_on();
        assert!(comes_true(|| has(command, asked)));
        for other in ["read -r", "-r end", "pwd", "read -r end x", "", "true"] {
            assert!(!has(other, asked), "{other}");
        }
        let later = anyhook_engine::now() + SignedDuration::from_secs(60);
        assert!(!has(command, later), "it ran before it was asked about");
        let other = ProcessName { started: name.started + 1, ..name.clone() };
        assert!(!below(&other).has(command, asked), "another process");
    }

    #[test]
    fn the_command_of_a_shell_is_found_among_its_words() {
        let found = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            shell_argument(&words).cloned()
        };
        assert_eq!(found(&["/bin/bash", "-c", "-l", "npm test"]).as_deref(), Some("npm test"));
        assert_eq!(found(&["bash", "-lc", "make all"]).as_deref(), Some("make all"));
        assert_eq!(found(&["zenity", "--text", "Allow: npm test?"]), None);
        assert_eq!(found(&["node", "x.js"]), None);
        assert!(is_ours(&["/x/anyhook-hook".to_owned()]) && !is_ours(&["/bin/sh".to_owned()]));
    }
}
