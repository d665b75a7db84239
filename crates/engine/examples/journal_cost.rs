//! What the journal costs on the hook path, and what reading it costs: `cargo xtask bench` runs it.
//!
//! Prints one JSON object with times in microseconds. The journal is left in the state folder that is
//! given as its argument.

#![expect(clippy::print_stdout, reason = "its whole purpose")]

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhook_engine::journal::Journal;
use anyhook_engine::settings::{JournalSettings, SyncMode};
use anyhook_model::{
    Decision, EventKind, Payload, Record, RecordId, ReplyRecord, RunOutcome, RunRecord,
};
use serde_json::json;

const RECORDS: usize = 20_000;
const SYNCED_RECORDS: usize = 500;

fn main() -> io::Result<()> {
    let scratch = tempfile::tempdir()?;
    let state =
        std::env::args_os().nth(1).map_or_else(|| scratch.path().join("state"), PathBuf::from);
    let plain = Journal::new(&state);
    let silent = times(&plain, RECORDS, &record(false))?;
    let decided = times(&plain, RECORDS, &record(true))?;
    let always = JournalSettings { sync: SyncMode::Always, ..JournalSettings::default() };
    let synced = Journal::with(&scratch.path().join("synced"), always);
    let synced = times(&synced, SYNCED_RECORDS, &record(true))?;

    let began = Instant::now();
    let mut read = 0;
    plain.reader().read_on(&mut |_| read += 1)?;
    let reading = began.elapsed().as_secs_f64() * 1e6 / f64::from(read);
    let began = Instant::now();
    plain.verify(&mut |_| ())?;
    let verifying = began.elapsed().as_secs_f64() * 1e6 / f64::from(read);
    println!(
        "{}",
        json!({
            "append_silent": summary(silent),
            "append_decided": summary(decided),
            "append_synced": summary(synced),
            "record_bytes": plain.size()? / u64::try_from(read).unwrap_or(1).max(1),
            "read_each_us": reading,
            "verify_each_us": verifying,
        })
    );
    Ok(())
}

/// Appends records as the hook path does: each time, everything is opened anew.
fn times(journal: &Journal, count: usize, record: &Record) -> io::Result<Vec<f64>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let record = record.clone();
        let began = Instant::now();
        journal.append(vec![record])?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}

fn summary(mut times: Vec<f64>) -> serde_json::Value {
    times.sort_by(f64::total_cmp);
    let rank = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1];
    json!({ "p50_us": rank(50), "p95_us": rank(95), "p99_us": rank(99) })
}

/// An ordinary shell call of a kilobyte, with one hook.
fn record(decided: bool) -> Record {
    let id = RecordId::from_text("7k2m9x4q");
    let mut record = Record::new(id, anyhook_engine::now(), "claude-code", EventKind::BeforeTool);
    let command = format!("cargo test --workspace -- {}", "some_test ".repeat(60));
    record.native_name = Some("PreToolUse".to_owned());
    record.session = Some("0b9c2a52-6a3e-4a62-8f0e-0123456789ab".to_owned());
    "/home/user/project".clone_into(&mut record.work_dir);
    record.project_dir = Some("/home/user/project".to_owned());
    record.tool = Some("Shell".to_owned());
    record.call = Some("toolu_0123456789abcdefghijklmn".to_owned());
    record.about = Some(command.clone());
    let payload = json!({
        "session_id": record.session,
        "transcript_path": Path::new("/home/user/.claude/projects/project/session.jsonl"),
        "cwd": "/home/user/project",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": { "command": command, "description": "Run all tests" },
        "tool_use_id": record.call,
    });
    record.payload = Some(Payload::new(payload.to_string().as_bytes()));
    record.reply = Some(ReplyRecord::default());
    record.other_events = 10;
    if decided {
        let decision = Decision::deny("not here: use `cargo nextest run`");
        record.verdict.effect = decision.effect;
        record.verdict.reason.clone_from(&decision.reason);
        record.runs.push(RunRecord {
            hook: "guard".to_owned(),
            folder: "/home/user/.config/agents/hooks/guard".to_owned(),
            shadow: false,
            outcome: Some(RunOutcome::Exited(2)),
            decision,
            failure: None,
            notes: Vec::new(),
            stdout: String::new(),
            stderr: "not here: use `cargo nextest run`\n".to_owned(),
            took_us: 1234,
        });
    }
    record
}
