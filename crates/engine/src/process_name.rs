//! Finds the agent's process, starting from the hook process it started.

use anyhook_model::ProcessName;

/// A longer chain of processes is not a session.
#[cfg(target_os = "linux")]
const MOST_ANCESTORS: usize = 256;

/// An agent calls us directly, or through at most this many shells and wrappers.
#[cfg(target_os = "linux")]
const MOST_BETWEEN: usize = 8;

/// Returns the agent that started this process: the nearest ancestor with one of these names.
///
/// `None` where the system does not say, or where no ancestor has such a name: any other ancestor
/// may be gone long before the agent is.
#[cfg(target_os = "linux")]
pub fn of_agent(names: &[&str]) -> Option<ProcessName> {
    let parent = u32::try_from(rustix::process::getppid()?.as_raw_nonzero().get()).ok()?;
    let is_agent = |stat: &Stat| names.contains(&stat.name.as_str());
    Stat::upwards(parent).take(MOST_BETWEEN).find(is_agent)?.into_name()
}

/// Returns the process that currently has this pid.
#[cfg(target_os = "linux")]
pub fn of(pid: u32) -> Option<ProcessName> {
    Stat::read(pid)?.into_name()
}

/// Returns a process and its ancestors, nearest first, each with the name of its program.
#[cfg(target_os = "linux")]
pub fn with_ancestors(pid: u32) -> Vec<(ProcessName, String)> {
    let named = |stat: Stat| {
        let program = stat.name.clone();
        Some((stat.into_name()?, program))
    };
    Stat::upwards(pid).take(MOST_ANCESTORS).filter_map(named).collect()
}

/// Without `/proc`, a process's ancestors are not known.
#[cfg(not(target_os = "linux"))]
pub fn with_ancestors(_pid: u32) -> Vec<(ProcessName, String)> {
    Vec::new()
}

/// Without `/proc`, an agent's process is not known.
#[cfg(not(target_os = "linux"))]
pub fn of_agent(_names: &[&str]) -> Option<ProcessName> {
    None
}

/// Without `/proc`, a process has no name.
#[cfg(not(target_os = "linux"))]
pub fn of(_pid: u32) -> Option<ProcessName> {
    None
}

/// The contents of `/proc/PID/stat`.
#[cfg(target_os = "linux")]
struct Stat {
    pid: u32,
    name: String,
    parent: u32,
    started: u64,
}

#[cfg(target_os = "linux")]
impl Stat {
    /// Returns a process and its ancestors, nearest first.
    fn upwards(pid: u32) -> impl Iterator<Item = Self> {
        std::iter::successors(Self::read(pid), |stat| Self::read(stat.parent))
    }

    fn read(pid: u32) -> Option<Self> {
        let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(pid, &String::from_utf8_lossy(&bytes))
    }

    fn parse(pid: u32, text: &str) -> Option<Self> {
        // The name is in parentheses and may itself contain some.
        let (before, after) = (text.split_once('(')?.1, text.rsplit_once(") ")?.1);
        let name = before.rsplit_once(") ")?.0.to_owned();
        let mut fields = after.split(' ');
        let state = fields.next()?;
        // A zombie is no longer an agent.
        if matches!(state, "Z" | "X") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let started = fields.nth(17)?.parse().ok()?;
        Some(Self { pid, name, parent, started })
    }

    fn into_name(self) -> Option<ProcessName> {
        let namespace = std::fs::read_link(format!("/proc/{}/ns/pid", self.pid)).ok()?;
        let namespace = Some(namespace.to_string_lossy().into_owned());
        Some(ProcessName { pid: self.pid, started: self.started, namespace })
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let ours = of(std::process::id()).unwrap();
        assert_eq!(ours.pid, std::process::id());
        assert!(ours.started > 0 && ours.namespace.is_some());
        assert_eq!(of(std::process::id()), Some(ours));
        assert_eq!(of(u32::MAX), None);
    }

    #[test]
    fn ancestors_begin_with_the_process_itself() {
        let all = with_ancestors(std::process::id());
        assert_eq!(Some(&all[0].0), of(std::process::id()).as_ref());
        assert!(all.len() > 1, "{all:?}");
        assert!(with_ancestors(u32::MAX).is_empty());
    }

    #[test]
    fn a_name_may_look_like_the_rest_of_the_line() {
        let text = "7 (a) S (b) R 3 7 7 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 991 5 5";
        let stat = Stat::parse(7, text).unwrap();
        assert_eq!((stat.name.as_str(), stat.parent, stat.started), ("a) S (b", 3, 991));
        assert!(Stat::parse(7, "7 (a) Z 3 7 7 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 991 5").is_none());
        for torn in ["", "7", "7 (a", "7 (a) S", "7 (a) S 3 7"] {
            assert!(Stat::parse(7, torn).is_none(), "{torn}");
        }
    }
}
