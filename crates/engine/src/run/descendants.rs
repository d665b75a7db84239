//! Ends every process a hook has started, including those that left its process group.
//!
//! On Linux a process belongs to a run if it is in the run's process group, has the run's mark in
//! its environment, descends from such a process, or was orphaned to us since the run began. On
//! other systems only the process group is used.

#[cfg(target_os = "linux")]
use std::collections::HashSet;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The variable that marks every process of a run.
pub const MARK: &str = "ANYHOOK_RUN";

/// The mark of detached processes.
pub const ASIDE: &str = "detached";

/// What distinguishes the processes of one run from all others.
#[derive(Debug)]
pub struct RunFamily {
    /// The process that was started, leader of its group.
    pub leader: Pid,
    /// The value of [`MARK`] in its environment.
    pub mark: String,
    /// Our own children before the run began, if we adopt orphans.
    pub strangers: Option<Vec<i32>>,
    /// The marks of earlier runs.
    pub earlier: Vec<String>,
}

impl RunFamily {
    /// Sends a signal to all members. Returns whether any is left to receive it.
    pub fn signal(&self, signal: Signal) -> bool {
        let reached_group = kill_process_group(self.leader, signal).is_ok();
        let members = self.members();
        send(&members, signal);
        // On Linux the members decide: a group also counts zombies that were not waited for.
        if cfg!(target_os = "linux") { !members.is_empty() } else { reached_group }
    }

    /// Returns the members that are alive.
    #[cfg(target_os = "linux")]
    fn members(&self) -> Vec<i32> {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let mut processes = linux::processes();
        // A process that started before the run does not belong to it.
        let began =
            processes.iter().find(|process| process.id == own).map_or(0, |process| process.began);
        processes.retain(|process| process.began >= began);
        let leader = self.leader.as_raw_nonzero().get();
        let mut family: HashSet<i32> = processes
            .iter()
            .filter(|process| {
                process.id == leader
                    || process.group == leader
                    || self.is_marked_or_orphaned(process, own)
            })
            .map(|process| process.id)
            .collect();
        family.remove(&own);
        linux::living(&processes, family, own)
    }

    /// Returns whether a process is a member by its mark, or as an orphan that came to us since the
    /// run began.
    #[cfg(target_os = "linux")]
    fn is_marked_or_orphaned(&self, process: &linux::Process, own: i32) -> bool {
        let mark = linux::mark(process.id);
        if mark.as_deref() == Some(self.mark.as_str()) {
            return true;
        }
        // An orphan may carry the mark of a call of ours inside the run; but what earlier runs left
        // behind, and detached processes, do not belong to this run.
        let foreign = mark.is_some_and(|mark| mark == ASIDE || self.earlier.contains(&mark));
        let is_new = self.strangers.as_ref().is_some_and(|list| !list.contains(&process.id));
        process.parent == own && is_new && !foreign
    }

    #[cfg(not(target_os = "linux"))]
    fn members(&self) -> Vec<i32> {
        Vec::new()
    }
}

/// Sends a signal to all processes that carry a mark and to their descendants, no matter who
/// started them and when. Returns whether any is left to receive it; on systems other than Linux
/// none can be found.
pub fn signal_marked(mark: &str, signal: Signal) -> bool {
    let members = marked(mark);
    send(&members, signal);
    !members.is_empty()
}

/// Returns the live processes that carry a mark, and their descendants.
#[cfg(target_os = "linux")]
fn marked(mark: &str) -> Vec<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let processes = linux::processes();
    let family: HashSet<i32> = processes
        .iter()
        .map(|process| process.id)
        .filter(|id| *id != own && linux::mark(*id).as_deref() == Some(mark))
        .collect();
    linux::living(&processes, family, own)
}

#[cfg(not(target_os = "linux"))]
fn marked(_: &str) -> Vec<i32> {
    Vec::new()
}

fn send(members: &[i32], signal: Signal) {
    for pid in members.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        // It may be gone by now.
        let _ = kill_process(pid, signal);
    }
}

/// Returns our current children, to distinguish them from those that come to us later.
#[cfg(target_os = "linux")]
pub fn own_children() -> Vec<i32> {
    linux::own_children().unwrap_or_else(|| {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        linux::processes()
            .iter()
            .filter(|process| process.parent == own)
            .map(|process| process.id)
            .collect()
    })
}

/// Returns nothing: orphans are adopted on Linux only.
#[cfg(not(target_os = "linux"))]
pub fn own_children() -> Vec<i32> {
    Vec::new()
}

/// Returns the current children of a process.
#[cfg(target_os = "linux")]
pub fn children_of(pid: u32) -> Vec<u32> {
    let children = linux::listed_children(Path::new(&format!("/proc/{pid}/task")));
    children.into_iter().flatten().filter_map(|id| u32::try_from(id).ok()).collect()
}

/// Returns nothing: only Linux keeps such lists.
#[cfg(not(target_os = "linux"))]
pub fn children_of(_: u32) -> Vec<u32> {
    Vec::new()
}

/// Makes us the parent of orphans of our descendants, where the system supports that.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        // Without it, only the mark in the environment and the process group are used.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Leaves orphans of our descendants to the system again: for processes that are to outlive us, and
/// must not be ended with us.
pub fn release_orphans() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(None);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::fs;
    use std::path::Path;

    use rustix::io::Errno;
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    use super::MARK;

    pub struct Process {
        pub id: i32,
        pub parent: i32,
        pub group: i32,
        pub zombie: bool,
        /// When it started, in kernel ticks.
        pub began: u64,
    }

    /// Returns whether we have any child, dead or alive.
    pub fn has_children() -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::All, options), Err(Errno::CHILD))
    }

    /// Lists our children, where the kernel keeps such lists: one small file per thread.
    pub fn own_children() -> Option<Vec<i32>> {
        // Usually there is none, which one call shows.
        if !has_children() {
            return Some(Vec::new());
        }
        listed_children(Path::new("/proc/self/task"))
    }

    /// Lists the children of a process from the folder of its threads.
    pub fn listed_children(threads: &Path) -> Option<Vec<i32>> {
        let mut children = Vec::new();
        for thread in fs::read_dir(threads).ok()? {
            let list = fs::read_to_string(thread.ok()?.path().join("children")).ok()?;
            children.extend(list.split_ascii_whitespace().filter_map(|id| id.parse::<i32>().ok()));
        }
        Some(children)
    }

    /// Lists all processes.
    pub fn processes() -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| {
                let id = entry.file_name().to_str()?.parse().ok()?;
                let stat = fs::read(entry.path().join("stat")).ok()?;
                // The name in parentheses may itself contain parentheses and blanks.
                let after_name = stat.iter().rposition(|byte| *byte == b')')? + 2;
                let text = String::from_utf8_lossy(stat.get(after_name..)?).into_owned();
                let mut fields = text.split(' ');
                let zombie = matches!(fields.next()?, "Z" | "X");
                let parent = fields.next()?.parse().ok()?;
                let group = fields.next()?.parse().ok()?;
                // The 22nd field of the line, the 17th from here.
                let began = fields.nth(16)?.parse().ok()?;
                Some(Process { id, parent, group, zombie, began })
            })
            .collect()
    }

    /// Returns the live members of a family and their descendants, but never ourselves.
    pub fn living(processes: &[Process], mut family: HashSet<i32>, own: i32) -> Vec<i32> {
        // A child may come before its parent in the list.
        loop {
            let before = family.len();
            for process in processes {
                if process.id != own && family.contains(&process.parent) {
                    family.insert(process.id);
                }
            }
            if family.len() == before {
                break;
            }
        }
        processes
            .iter()
            .filter(|process| !process.zombie && family.contains(&process.id))
            .map(|process| process.id)
            .collect()
    }

    /// Returns the mark in a process's environment.
    pub fn mark(id: i32) -> Option<String> {
        let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
        let prefix = format!("{MARK}=");
        let mut entries = environment.split(|byte| *byte == 0);
        let mark = entries.find_map(|entry| entry.strip_prefix(prefix.as_bytes()))?;
        Some(String::from_utf8_lossy(mark).into_owned())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn children_are_listed_while_they_are_there() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        assert!(own_children().contains(&id));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(!own_children().contains(&id));
    }
}
