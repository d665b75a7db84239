//! In-process dispatch tests, with hooks on disk and a journal.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_model::{
    ApprovalRequest, Caller, DecodeError, Event, ForeignEntry, Host, OpenFormat, Record, Reply,
    Resolution, Verdict,
};
use serde_json::json;

use super::Engine;
use crate::approval::Approver;
use crate::journal::Journal;
use crate::places::Places;

/// The open format, for a host that cannot ask a person.
struct CannotAsk;

impl Host for CannotAsk {
    fn id(&self) -> &'static str {
        OpenFormat.id()
    }

    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        OpenFormat.decode(payload, caller)
    }

    fn can_ask(&self, _: &Event) -> bool {
        false
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        OpenFormat.encode(event, verdict)
    }

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        OpenFormat.refuse(error, guarded)
    }
}

/// A person who edits the settings while they are asked, and gives no answer.
#[derive(Debug)]
struct Edits(PathBuf);

impl Approver for Edits {
    fn ask(&self, _: &Places, _: &ApprovalRequest, record: &Record) -> Option<Resolution> {
        assert_eq!(record.tool.as_deref(), Some("Shell"));
        fs::write(&self.0, "ask_fallback = \"pass\"\n[journal]\nsegment_kib = 0\n").unwrap();
        None
    }
}

fn places(world: &Path) -> Places {
    Places {
        managed: "/nowhere".into(),
        user: Some(world.join("agents")),
        state: Some(world.join("state")),
        home: None,
        binary: None,
    }
}

#[test]
fn an_edit_in_the_middle_of_a_dispatch_does_not_change_its_settings() {
    let world = tempfile::tempdir().unwrap();
    let hook = world.path().join("agents/hooks/asks");
    fs::create_dir_all(hook.join("scripts")).unwrap();
    let definition = "---\nname: asks\ndescription: d\ntrigger: before_tool\n---\n";
    fs::write(hook.join("HOOK.md"), definition).unwrap();
    let script = "echo '{\"decision\": \"ask\", \"reason\": \"sure?\"}'\n";
    fs::write(hook.join("scripts/run.sh"), script).unwrap();
    let settings = world.path().join("agents/anyhook.toml");
    let before = "ask_fallback = \"deny\"\n[decisions]\nwait = [\"ask\"]\n";
    let payload = json!({
        "event_type": "before_tool", "session_id": "s", "tool_name": "Shell",
        "tool_input": {"command": "ls"}, "tool_use_id": "t",
    })
    .to_string();
    let caller = Caller::new(world.path(), jiff::Timestamp::UNIX_EPOCH);
    for with_index in [false, true] {
        fs::write(&settings, before).unwrap();
        let mut engine = Engine::new(places(world.path())).with_person(Edits(settings.clone()));
        engine.by_index = with_index;
        let reply = engine.dispatch(&CannotAsk, payload.as_str(), &caller, None);
        assert_ne!(fs::read_to_string(&settings).unwrap(), before, "the person was asked");
        assert!(reply.blocks, "what was in force at its beginning decides: {reply:?}");
        // The next one begins with the edit.
        let engine = Engine::new(places(world.path()));
        assert!(!engine.dispatch(&CannotAsk, payload.as_str(), &caller, None).blocks);
    }
}

#[test]
fn a_record_tells_what_came_in_and_what_was_answered() {
    let world = tempfile::tempdir().unwrap();
    let engine = Engine::new(places(world.path()));
    let payload = r#"{"event_type":"before_tool","session_id":"s","tool_name":"Shell","tool_input":{"command":"ls"},"tool_use_id":"t"}"#;
    let mut caller = Caller::new(world.path(), jiff::Timestamp::UNIX_EPOCH);
    caller.agent_id = Some("mine".to_owned());
    let reply = engine.dispatch(&OpenFormat, payload, &caller, None);
    let mut records = Vec::new();
    let journal = Journal::new(&world.path().join("state"));
    journal.reader().read_on(&mut |record| records.push(record)).unwrap();
    let [record] = &records[..] else { panic!("{records:?}") };
    assert_eq!(record.payload.as_ref().unwrap().as_text(), payload);
    assert_eq!(record.reply.as_ref().unwrap().stdout, reply.stdout);
    assert_eq!((record.call.as_deref(), record.about.as_deref()), (Some("t"), Some("ls")));
    assert!(record.call_digest.is_some());
    assert_eq!(record.agent_id.as_deref(), Some("mine"));
    assert_eq!(record.verdict.id.as_ref(), Some(&record.id));
}

/// A world with a hook that denies everything, in which an agent `grok` runs an entry of `claude`.
struct SharedEntry {
    world: tempfile::TempDir,
    settings: PathBuf,
}

impl SharedEntry {
    fn new() -> Self {
        let world = tempfile::tempdir().unwrap();
        let hook = world.path().join("agents/hooks/denies");
        fs::create_dir_all(&hook).unwrap();
        let definition =
            "---\nname: denies\ndescription: d\ntrigger: before_tool\ndecision: deny\n---\n";
        fs::write(hook.join("HOOK.md"), definition).unwrap();
        let settings = world.path().join("grok.json");
        Self { world, settings }
    }

    fn install(&self, place: &str) {
        let text = "{\"command\": \"/bin/anyhook hook agent-hooks --deadline-ms 5 --tool-event\"}";
        fs::write(&self.settings, text).unwrap();
        let installed = self.world.path().join("state/installed");
        fs::create_dir_all(&installed).unwrap();
        let record = json!({"v": 1, "files": {self.settings.to_str().unwrap(): {"after": text}}});
        fs::write(installed.join(format!("agent-hooks-{place}.json")), record.to_string()).unwrap();
    }

    /// Calls through an entry: the agent's own, or the foreign one. Returns whether it was denied.
    fn call(&self, is_foreign: bool) -> bool {
        let payload = json!({
            "event_type": "before_tool", "session_id": "s", "tool_name": "Shell",
            "tool_input": {"command": "ls"}, "tool_use_id": "t",
        });
        let mut caller = Caller::new(self.world.path(), jiff::Timestamp::UNIX_EPOCH);
        let entry = ForeignEntry { of: "claude-code".into(), run_by: OpenFormat.id().into() };
        caller.foreign_entry = is_foreign.then(|| Box::new(entry));
        let engine = Engine::new(places(self.world.path()));
        let reply = engine.dispatch(&OpenFormat, payload.to_string(), &caller, None);
        assert!(reply.blocks || reply.exit_code == 0, "{reply:?}");
        reply.blocks
    }

    fn events(&self) -> Vec<(String, bool)> {
        let mut records = Vec::new();
        let journal = Journal::new(&self.world.path().join("state"));
        journal.reader().read_on(&mut |record| records.push(record)).unwrap();
        records.iter().map(|it| (it.event.to_string(), it.foreign_entry.is_some())).collect()
    }
}

#[test]
fn a_call_through_a_foreign_entry_is_handled_where_it_is_the_only_one() {
    let shared = SharedEntry::new();
    assert!(shared.call(true), "the agent has no entry of its own");
    shared.install("user");
    assert!(shared.call(true), "its entry has not called in this session");
    let handled = ("before_tool".to_owned(), true);
    assert_eq!(shared.events(), [handled.clone(), handled]);
}

#[test]
fn a_call_through_a_foreign_entry_is_dropped_where_it_is_the_second() {
    for is_project in [false, true] {
        let shared = SharedEntry::new();
        let project = shared.world.path().to_string_lossy().replace('/', "%");
        shared.install(if is_project { &project } else { "user" });
        assert!(shared.call(false), "its own entry");
        assert!(!shared.call(true), "the same again");
        let own = ("before_tool".to_owned(), false);
        assert_eq!(shared.events(), [own, ("double_call".to_owned(), true)]);
        // Edited, and the entry is still there.
        let text = fs::read_to_string(&shared.settings).unwrap();
        fs::write(&shared.settings, text.replace('{', "{ \"more\": 1, ")).unwrap();
        assert!(!shared.call(true));
        fs::write(&shared.settings, text.replace(" --tool-event", "")).unwrap();
        assert!(shared.call(true), "the entry of tool calls was removed by hand");
        fs::write(&shared.settings, "{}").unwrap();
        assert!(shared.call(true), "the entry was removed by hand");
        fs::remove_file(&shared.settings).unwrap();
        assert!(shared.call(true), "the settings were removed");
    }
}

#[test]
fn an_entry_in_the_settings_of_another_project_is_no_proof() {
    let shared = SharedEntry::new();
    shared.install("%home%ann%project");
    assert!(shared.call(false) && shared.call(true));
}

/// An installation may have written several files: that one is unchanged says nothing of the entry.
#[test]
fn another_file_of_the_installation_is_no_proof() {
    let shared = SharedEntry::new();
    shared.install("user");
    let other = shared.world.path().join("config.toml");
    fs::write(&other, "hooks = true").unwrap();
    let record = shared.world.path().join("state/installed/agent-hooks-user.json");
    let text = fs::read_to_string(&record).unwrap();
    let mut read: serde_json::Value = serde_json::from_str(&text).unwrap();
    read["files"][other.to_str().unwrap()] = json!({"after": "hooks = true"});
    fs::write(&record, read.to_string()).unwrap();
    assert!(shared.call(false) && !shared.call(true));
    fs::remove_file(&shared.settings).unwrap();
    assert!(shared.call(true));
}

#[test]
fn an_entry_of_an_agent_with_a_similar_name_is_no_proof() {
    let shared = SharedEntry::new();
    shared.install("user");
    let installed = shared.world.path().join("state/installed");
    let of = |name: &str| installed.join(name);
    fs::rename(of("agent-hooks-user.json"), of("agent-hooks-next-user.json")).unwrap();
    assert!(shared.call(false) && shared.call(true));
}
