//! The fast path (by the index, large payloads in part) and the plain path say the same: over every
//! payload that was recorded from an agent, and payloads made of them.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhook_engine::journal::{Journal, JournalReader};
use anyhook_engine::{Engine, Places, now};
use anyhook_hook::find_host;
use anyhook_model::{Caller, Record, Reply};
use serde_json::{Value, json};
use tempfile::TempDir;

const AGENTS: [&str; 4] = ["claude-code", "codex", "gemini-cli", "opencode"];

/// An engine with a state of its own, and what it has answered and journaled.
struct Side {
    engine: Engine,
    journal: RefCell<JournalReader>,
    state: TempDir,
}

impl Side {
    fn new(user: &Path, make: impl FnOnce(Engine) -> Engine) -> Self {
        let state = tempfile::tempdir().unwrap();
        let places = Places {
            managed: "/nowhere".into(),
            user: Some(user.to_owned()),
            state: Some(state.path().to_owned()),
            home: None,
            binary: None,
        };
        let journal = RefCell::new(Journal::new(state.path()).reader());
        Self { engine: make(Engine::new(places)), journal, state }
    }

    /// Answers a payload; what is different each time is taken out.
    fn answer(&self, host: &str, payload: &[u8], caller: &Caller) -> (Reply, Vec<Value>) {
        let host = find_host(host).unwrap();
        let mut reply = self.engine.dispatch(host, payload.to_vec(), caller, None);
        let mut new = Vec::new();
        self.journal.borrow_mut().read_on(&mut |record| new.push(record)).unwrap();
        for record in &new {
            reply.stdout = reply.stdout.replace(record.id.as_str(), "ID");
            reply.stderr = reply.stderr.replace(record.id.as_str(), "ID");
        }
        let ids: Vec<String> = new.iter().map(|record| record.id.as_str().to_owned()).collect();
        (reply, new.into_iter().map(|record| without_chance(record, &ids)).collect())
    }
}

/// Takes ids, times and folders of the state out of a record.
fn without_chance(mut record: Record, ids: &[String]) -> Value {
    record.took_us = 0;
    for run in &mut record.runs {
        run.took_us = 0;
    }
    let mut text = serde_json::to_string(&record).unwrap();
    for id in ids {
        text = text.replace(id.as_str(), "ID");
    }
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["at"] = Value::Null;
    value
}

/// Every payload that was recorded from an agent.
fn recorded(agent: &str) -> Vec<(String, Value)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hosts/src");
    let folder = source.join(agent.replace('-', "_")).join("fixtures");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        if agent == "opencode" {
            // Our plugin sends it with the hook's name and the folders.
            let hook = name.strip_prefix("event.").unwrap_or(&name).split('-').next().unwrap();
            value["hook"] = hook.into();
            value["directory"] = "/home/user/project".into();
            value["worktree"] = "/home/user/project".into();
        }
        (name, value)
    };
    files.into_iter().map(read).collect()
}

/// A payload and others like it: harmful, huge, harmful at the end of something huge.
fn variants(payload: &Value) -> Vec<Value> {
    let long = "x".repeat(70_000);
    let texts = ["rm -rf / --no-preserve-root", "git push --force", long.as_str()];
    let mut all = vec![payload.clone()];
    let inputs = ["/tool_input", "/output/args"];
    for at in inputs {
        for text in texts.iter().map(|text| (*text).to_owned()).chain([long.clone() + "rm -rf /"]) {
            let mut changed = payload.clone();
            if let Some(Value::Object(fields)) = changed.pointer_mut(at) {
                fields.insert("command".to_owned(), json!(text));
                all.push(changed);
            }
        }
        let mut changed = payload.clone();
        if let Some(Value::Object(fields)) = changed.pointer_mut(at) {
            let numbers: Vec<u32> = (0..14_000).collect();
            fields.insert("numbers".to_owned(), json!(numbers));
            all.push(changed);
        }
    }
    all
}

/// Takes what the example hooks say of themselves, with scripts that are quick; adds some that no
/// event matches.
fn install_hooks(user: &Path) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hooks");
    let hooks = user.join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    for entry in fs::read_dir(examples).unwrap() {
        let source = entry.unwrap().path();
        let target = hooks.join(source.file_name().unwrap());
        fs::create_dir_all(target.join("scripts")).unwrap();
        fs::copy(source.join("HOOK.md"), target.join("HOOK.md")).unwrap();
        let says =
            r#"case "$ANYHOOK_HOOK_NAME" in block*) echo no >&2; exit 2;; *) echo seen;; esac"#;
        let script = target.join("scripts/run");
        fs::write(&script, format!("#!/bin/sh\n{says}\n")).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for number in 0..30 {
        let folder = hooks.join(format!("never-{number}"));
        fs::create_dir_all(folder.join("scripts")).unwrap();
        fs::write(folder.join("scripts/run.sh"), "exit 2\n").unwrap();
        let text = format!(
            "---\nname: never-{number}\ndescription: d\ntrigger: before_tool\nmatcher:\n  pattern: 'never-{number}\\b'\n---\n"
        );
        fs::write(folder.join("HOOK.md"), text).unwrap();
    }
}

#[test]
fn the_same_answers_and_records() {
    let scratch = tempfile::tempdir().unwrap();
    let (user, project) = (scratch.path().join("user"), scratch.path().join("project"));
    fs::create_dir_all(&project).unwrap();
    install_hooks(&user);
    let plain = Side::new(&user, |engine| engine);
    let fast = Side::new(&user, Engine::with_index);
    let index = fast.state.path().join("index");
    let caller = Caller { project_dir: Some(project.clone()), ..Caller::new(&project, now()) };
    let mut answered = 0;
    let mut denied = 0;
    for agent in AGENTS {
        for (name, payload) in recorded(agent) {
            for (number, payload) in variants(&payload).into_iter().enumerate() {
                let bytes = payload.to_string().into_bytes();
                let (expected, expected_records) = plain.answer(agent, &bytes, &caller);
                let (reply, records) = fast.answer(agent, &bytes, &caller);
                assert_eq!(reply, expected, "{agent} {name} {number}");
                assert_eq!(records, expected_records, "{agent} {name} {number}");
                answered += 1;
                denied += usize::from(reply.stdout.contains("deny") || reply.exit_code == 2);
            }
        }
    }
    assert!(answered > 200 && denied > 20, "{answered} answers, {denied} denials");
    assert!(fs::read_dir(index).unwrap().count() > 0, "the index was never made");
}

/// An edit counts for everybody who comes after it, however many come at once.
#[test]
fn every_edit_counts_for_all_who_come_after_it() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("config/agents/hooks/guard");
    fs::create_dir_all(folder.join("scripts")).unwrap();
    fs::write(folder.join("scripts/run.sh"), "exit 2\n").unwrap();
    let event = home.path().join("event.json");
    let text = json!({"event_type": "before_tool", "tool_name": "Shell", "work_dir": home.path(),
        "tool_input": {"command": "make it so"}});
    fs::write(&event, text.to_string()).unwrap();
    let start = || {
        std::process::Command::new(env!("CARGO_BIN_EXE_anyhook-hook"))
            .args(["hook", "agent-hooks"])
            .current_dir(home.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path().join("config"))
            .env("XDG_STATE_HOME", home.path().join("state"))
            .stdin(fs::File::open(&event).unwrap())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let index = home.path().join("state/anyhook/index");
    for round in 0..6 {
        // As long, in place: only the times of the file tell.
        let pattern = if round % 2 == 0 { "make" } else { "fake" };
        fs::write(
            folder.join("HOOK.md"),
            format!("---\nname: guard\ndescription: d\ntrigger: before_tool\nmatcher:\n  pattern: {pattern}\n---\n"),
        )
        .unwrap();
        let wanted = if round % 2 == 0 { 2 } else { 0 };
        let crowd: Vec<_> = (0..40).map(|_| start()).collect();
        for mut child in crowd {
            assert_eq!(child.wait().unwrap().code(), Some(wanted), "round {round}");
        }
        // Until the index knows it: then it has to forget it again.
        let began = Instant::now();
        let modified = || {
            let entries = fs::read_dir(&index).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.metadata().ok()?.modified().ok()).max()
        };
        let edited = fs::metadata(folder.join("HOOK.md")).unwrap().modified().unwrap();
        while modified().is_none_or(|written| written <= edited) {
            assert_eq!(start().wait().unwrap().code(), Some(wanted), "round {round}");
            assert!(began.elapsed() < Duration::from_secs(30), "no index is made");
        }
    }
}
