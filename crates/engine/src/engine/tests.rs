//! In-process dispatch tests, with hooks on disk and a journal.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_model::{
    ApprovalRequest, Caller, DecodeError, Event, Host, OpenFormat, Record, Reply, Resolution,
    Verdict,
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
