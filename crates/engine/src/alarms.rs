//! Alarms that the next session is to begin with: calls that ran although they were denied.
//!
//! `alarms.jsonl` in the state folder holds those that nobody was told of yet.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhook_model::report::RanAnyway;

use crate::run::process::random_bits;

/// The file's name.
const FILE: &str = "alarms.jsonl";

/// Adds an alarm.
pub fn raise(state: &Path, alarm: &RanAnyway) -> io::Result<()> {
    fs::create_dir_all(state)?;
    let mut line = serde_json::to_vec(alarm)?;
    line.push(b'\n');
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(state.join(FILE))?
        .write_all(&line)
}

/// Takes the alarms that nobody was told of yet; of several processes one gets them.
pub fn take(state: &Path) -> Vec<RanAnyway> {
    let taken = state.join(format!(".alarms-{:016x}", random_bits()));
    if fs::rename(state.join(FILE), &taken).is_err() {
        return Vec::new();
    }
    let text = fs::read_to_string(&taken).unwrap_or_default();
    // The journal still has them.
    let _ = fs::remove_file(&taken);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Says what happened.
pub fn words(alarm: &RanAnyway) -> String {
    let about = [alarm.tool.as_deref(), alarm.about.as_deref()];
    let about = about.into_iter().flatten().collect::<Vec<_>>().join(" ");
    format!(
        "denied but ran: {} ran `{}` although it was denied (anyhook log show {})",
        alarm.host,
        anyhook_model::json::shorten(&about, 200),
        alarm.denied,
    )
}

#[cfg(test)]
mod tests {
    use anyhook_model::RecordId;

    use super::*;

    #[test]
    fn an_alarm_is_taken_once() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(take(state.path()), []);
        let alarm = RanAnyway {
            denied: RecordId::from_text("a"),
            ran: RecordId::from_text("b"),
            at: jiff::Timestamp::UNIX_EPOCH,
            host: "codex".to_owned(),
            session: None,
            tool: Some("Shell".to_owned()),
            about: Some("rm -rf /".to_owned()),
        };
        raise(state.path(), &alarm).unwrap();
        raise(state.path(), &alarm).unwrap();
        assert_eq!(take(state.path()), [alarm.clone(), alarm.clone()]);
        assert_eq!(take(state.path()), []);
        assert_eq!(
            words(&alarm),
            "denied but ran: codex ran `Shell rm -rf /` although it was denied (anyhook log show a)"
        );
    }
}
