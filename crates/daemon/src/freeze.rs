//! Stops an agent's process, and lets it continue.

use std::path::Path;

use anyhook_engine::process_name;
use anyhook_model::ProcessName;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

/// Finds the process of an agent: the one that its hooks named, otherwise the only one of its
/// programs that works in its folder.
///
/// An agent whose hooks never ran has told nobody which process it is.
pub fn process_of(
    known: Option<&ProcessName>,
    host: &str,
    work_dir: Option<&str>,
) -> Option<ProcessName> {
    if let Some(known) = known
        && process_name::of(known.pid).as_ref() == Some(known)
    {
        return Some(known.clone());
    }
    let (title, work_dir) = (anyhook_hosts::find(host)?.title, Path::new(work_dir?));
    let mut found = processes().filter(|pid| is_agent(*pid, title, work_dir));
    let only = found.next()?;
    // A launcher and the program that it started are one agent: the program counts.
    let mut last = process_name::of(only)?;
    for pid in found {
        let above = process_name::with_ancestors(pid);
        if !above.iter().any(|(ancestor, _)| *ancestor == last) {
            return None;
        }
        last = process_name::of(pid)?;
    }
    Some(last)
}

/// Returns the ids of all processes, in order.
fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids.into_iter()
}

fn is_agent(pid: u32, title: &str, work_dir: &Path) -> bool {
    let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let link = |name: &str| std::fs::read_link(format!("/proc/{pid}/{name}")).ok();
    if link("cwd").as_deref() != Some(work_dir) {
        return false;
    }
    let command_line = read("cmdline");
    let words = command_line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let arguments: Vec<String> =
        words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let name = String::from_utf8_lossy(&read("comm")).trim_end().to_owned();
    let program = link("exe");
    let found = anyhook_hosts::recognition::agent_of_process(&name, program.as_deref(), &arguments);
    found == Some(title)
}

/// Stops a process; one that has ended, or another with the same id, is left alone.
pub fn stop(process: &ProcessName) -> Result<(), Errno> {
    signal(process, Signal::STOP)
}

/// Lets a stopped process continue.
pub fn resume(process: &ProcessName) -> Result<(), Errno> {
    signal(process, Signal::CONT)
}

fn signal(process: &ProcessName, signal: Signal) -> Result<(), Errno> {
    if process_name::of(process.pid).as_ref() != Some(process) {
        return Err(Errno::SRCH);
    }
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    kill_process(pid, signal)
}

#[cfg(test)]
mod tests {
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

    fn state(pid: u32) -> String {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        text.rsplit_once(") ").unwrap().1[..1].to_owned()
    }

    fn wait_for(pid: u32, wanted: &str) {
        let start = Instant::now();
        while !wanted.contains(&state(pid)) {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", state(pid));
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_process_is_stopped_and_continues() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        // What the system calls it is what counts.
        let program = folder.join("codex");
        std::fs::copy("/bin/sleep", &program).unwrap();
        let child = Ended(Command::new(&program).arg("600").current_dir(&folder).spawn().unwrap());
        let pid = child.0.id();
        wait_for(pid, "S");
        let named = process_of(None, "codex", folder.to_str()).unwrap();
        assert_eq!(named.pid, pid);
        assert_eq!(process_of(None, "claude-code", folder.to_str()), None);
        assert_eq!(process_of(None, "codex", Some("/nowhere")), None);
        assert_eq!(process_of(Some(&named), "claude-code", None), Some(named.clone()));
        stop(&named).unwrap();
        wait_for(pid, "T");
        resume(&named).unwrap();
        wait_for(pid, "SR");
        // Another process with that id.
        let other = ProcessName { started: named.started + 1, ..named };
        assert_eq!(stop(&other), Err(Errno::SRCH));
        // Two of them: which one is meant cannot be told.
        let _second =
            Ended(Command::new(&program).arg("600").current_dir(&folder).spawn().unwrap());
        let start = Instant::now();
        while process_of(None, "codex", folder.to_str()).is_some() {
            assert!(start.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
    }
}
