//! Alarms to show when the next session begins: calls that ran although they were denied, or
//! without anyone being asked.
//!
//! `alarms.jsonl` in the state folder holds those not reported yet.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhook_model::report::RanAnyway;
use anyhook_model::{Alarm, AlarmKind, RecordId, StateDir};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::atomic_file::create_private_dir;
use crate::regular_file::{open_own, read_own};
use crate::run::process::random_bits;

/// A longer file is not one of ours.
const SIZE_LIMIT: u64 = 16 * 1024 * 1024;
/// The version of a line.
///
/// - 1: a denied call that ran ([`RanAnyway`]), without a version field.
/// - 2: an alarm of any kind.
const VERSION: u32 = 2;

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct AlarmLine {
    v: u32,
    #[serde(flatten)]
    alarm: Alarm,
}

/// Adds an alarm.
pub fn raise(state: &Path, alarm: &Alarm) -> io::Result<()> {
    create_private_dir(state)?;
    let mut line = serde_json::to_vec(&AlarmLine { v: VERSION, alarm: alarm.clone() })?;
    line.push(b'\n');
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    open_own(&StateDir::new(state).alarms(), flags)?.write_all(&line)
}

/// Takes the alarms not reported yet; with several processes, only one gets them.
pub fn take(state: &Path) -> Vec<Alarm> {
    let taken = state.join(format!(".alarms-{:016x}", random_bits()));
    if fs::rename(StateDir::new(state).alarms(), &taken).is_err() {
        return Vec::new();
    }
    let bytes = read_own(&taken, SIZE_LIMIT).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    // The journal still has them.
    let _ = fs::remove_file(&taken);
    let line = |line: &str| match serde_json::from_str::<AlarmLine>(line) {
        Ok(line) => Some(line.alarm),
        Err(_) => serde_json::from_str::<RanAnyway>(line).ok().as_ref().map(ran_anyway),
    };
    text.lines().filter_map(line).collect()
}

/// Makes the alarm for a denied call that ran.
pub fn ran_anyway(ran: &RanAnyway) -> Alarm {
    let about = [ran.tool.as_deref(), ran.about.as_deref()];
    let about = about.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let text = format!(
        "denied but ran: {} ran `{}` despite the denial (anyhook log show {})",
        ran.host,
        anyhook_model::json::shorten(&about, 200),
        ran.denied,
    );
    Alarm::new(AlarmKind::DeniedButRan, text)
}

/// Makes the alarm for a call that ran without anyone being asked, according to the agent's log.
///
/// `frozen` is the pid of the agent's process if it was stopped, with the command to continue it.
pub fn in_log_only(host: &str, about: &str, id: &RecordId, frozen: Option<(u32, &str)>) -> Alarm {
    let mut text = format!(
        "ran unguarded: {host} ran `{}` and its log shows no hook was asked (anyhook log show {id})",
        anyhook_model::json::shorten(about, 200),
    );
    if let Some((pid, command)) = frozen {
        text += &format!(". Its process {pid} is stopped; to let it continue: {command}");
    }
    Alarm::new(AlarmKind::RanUnasked, text)
}

/// Makes the alarm for a call that ran without anyone being asked.
pub fn ran_unasked(host: &str, about: &str, id: &RecordId) -> Alarm {
    let text = format!(
        "ran unchecked: {host} ran `{}` without sending before_tool (anyhook log show {id})",
        anyhook_model::json::shorten(about, 200),
    );
    Alarm::new(AlarmKind::RanUnasked, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_is_taken_once() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(take(state.path()), []);
        let ran = RanAnyway {
            denied: RecordId::from_text("a"),
            ran: RecordId::from_text("b"),
            at: jiff::Timestamp::UNIX_EPOCH,
            host: "codex".to_owned(),
            session: None,
            tool: Some("Shell".to_owned()),
            about: Some("rm -rf /".to_owned()),
        };
        let alarm = ran_anyway(&ran);
        assert_eq!(
            alarm.text,
            "denied but ran: codex ran `Shell rm -rf /` despite the denial (anyhook log show a)"
        );
        let other = Alarm::about(AlarmKind::GuardChanged, "guard", "it no longer exists");
        raise(state.path(), &alarm).unwrap();
        raise(state.path(), &other).unwrap();
        // As version 1 wrote it.
        let mut first = fs::read_to_string(StateDir::new(state.path()).alarms()).unwrap();
        first.push_str(&serde_json::to_string(&ran).unwrap());
        fs::write(StateDir::new(state.path()).alarms(), first + "\nno alarm\n").unwrap();
        assert_eq!(take(state.path()), [alarm.clone(), other, alarm]);
        assert_eq!(take(state.path()), []);
    }
}
