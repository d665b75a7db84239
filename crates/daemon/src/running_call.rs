//! Whether a command that an agent asked about runs already: somebody answered on the agent's own
//! screen, of which its host tells nothing before the command has ended.

use std::fs;
use std::time::Duration;

use anyhook_engine::process_name;
use anyhook_model::ProcessName;
use jiff::{SignedDuration, Timestamp};

/// A shell of the agent may start another one; nothing that a command starts itself is looked at.
const DEPTH: usize = 3;
/// So many processes are looked at: what starts more than that is told of at its end.
const MOST: usize = 512;
/// So much of a command is looked for: hosts shorten and wrap it.
const LOOKED_FOR: usize = 200;

/// The system tells when a process started to so much.
const TICK: Duration = Duration::from_millis(20);

/// Tells whether a process below the agent's was started since then with this command.
pub fn runs(agent: &ProcessName, command: &str, since: Timestamp) -> bool {
    let wanted = bare(&command.chars().take(LOOKED_FOR).collect::<String>());
    // A number counts for one process at a time, and for those who see the same ones.
    if wanted.is_empty() || process_name::of(agent.pid).as_ref() != Some(agent) {
        return false;
    }
    let Some(longest) = age(since) else { return false };
    let mut below = vec![agent.pid];
    let mut looked_at = 0;
    for _ in 0..DEPTH {
        below = below.into_iter().flat_map(children).take(MOST - looked_at).collect();
        looked_at += below.len();
        let is_it = |pid: &u32| is_younger(*pid, longest) && has_words(*pid, &wanted);
        if below.iter().any(is_it) {
            return true;
        }
    }
    false
}

/// Returns a text without what shells and their quotes change: blanks, quotes, backslashes.
fn bare(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace() && !"'\"\\\0".contains(*letter)).collect()
}

fn has_words(pid: u32, wanted: &str) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bare(&String::from_utf8_lossy(&words)).contains(wanted)
}

/// Returns the processes that a process started; its threads have their own.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()
    };
    threads.flat_map(of_thread).collect()
}

/// Returns how old a process may be that was started since then.
fn age(since: Timestamp) -> Option<Duration> {
    let age: SignedDuration = anyhook_engine::now().duration_since(since);
    Some(Duration::try_from(age).ok()? + TICK)
}

/// Tells whether a process was started no longer ago than that.
fn is_younger(pid: u32, longest: Duration) -> bool {
    let Some(process) = process_name::of(pid) else { return false };
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let started = Duration::from_millis(process.started.saturating_mul(1000) / ticks);
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::try_from(now).is_ok_and(|now| now.saturating_sub(started) <= longest)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell that, once it may, runs a command in a shell of its own, as agents do.
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
            // The inner shell ends when its input does.
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
        let inner = r#"read -r go; /bin/sh -c "eval 'read -r end # touch   \"the file\"'"; true"#;
        let mut agent = Agent::start(inner);
        let (name, asked) = (agent.name(), anyhook_engine::now());
        let command = "touch 'the\nfile'";
        assert!(!runs(&name, command, asked), "the agent's own words do not count");
        agent.go_on();
        assert!(comes_true(|| runs(&name, command, asked)));
        assert!(!runs(&name, "touch another", asked));
        assert!(!runs(&name, "", asked));
        let later = anyhook_engine::now() + SignedDuration::from_secs(60);
        assert!(!runs(&name, command, later), "it ran before it was asked about");
        let other = ProcessName { started: name.started + 1, ..name };
        assert!(!runs(&other, command, asked), "another process of that number");
    }
}
