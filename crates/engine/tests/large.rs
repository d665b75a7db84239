//! Large payloads: what is read in part ends as what is read in full, for every host.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::fs;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use anyhook_engine::journal::Journal;
use anyhook_engine::{Engine, Places};
use anyhook_model::json::OpaqueField;
use anyhook_model::{Caller, DecodeError, Event, Host, OpenFormat, Record, Reply, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Every recorded payload of every host.
fn payloads() -> &'static [(&'static dyn Host, Value)] {
    static PAYLOADS: OnceLock<Vec<(&'static dyn Host, Value)>> = OnceLock::new();
    PAYLOADS.get_or_init(|| {
        let mut payloads: Vec<(&'static dyn Host, Value)> = Vec::new();
        for agent in anyhook_hosts::AGENTS {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../hosts/src")
                .join(agent.id().replace('-', "_"))
                .join("fixtures");
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let Ok(text) = fs::read(&path) else { continue };
                let mut payload: Value = serde_json::from_slice(&text).unwrap();
                if agent.id() == "opencode" {
                    let name = path.file_stem().unwrap().to_str().unwrap();
                    let hook = name.strip_prefix("event.").unwrap_or(name);
                    payload["hook"] = hook.split('-').next().into();
                }
                let mut places = Vec::new();
                collect(&payload, String::new(), &mut places);
                // A few have nothing but ids, which stay as they are.
                if !places.is_empty() {
                    payloads.push((agent.protocol as &dyn Host, payload));
                }
            }
        }
        for event in ["before_tool", "after_tool", "before_agent"] {
            let input = json!({"command": "ls", "list": [1, {"a": "b"}]});
            let native = json!({"tool_name": "Bash", "tool_input": {"cmd": "ls"}});
            payloads.push((
                &OpenFormat,
                json!({
                    "event_type": event, "session_id": "s", "prompt": "p", "tool_name": "Shell",
                    "tool_input": input, "tool_use_id": "t1", "tool_output": {"out": ["x"]},
                    "native": native, "context": {"a": [1]},
                }),
            ));
        }
        payloads
    })
}

/// Something large that is put into a payload.
#[derive(Clone, Debug)]
struct Large {
    /// Chooses where.
    place: prop::sample::Index,
    /// As one string, as many, or as members of an object.
    shape: u8,
    /// What is in it once, and how far on.
    word: &'static str,
    at: usize,
    /// What the rest of it is made of.
    filling: &'static str,
    /// Whether what is not plain is written as numbers of characters.
    codes: bool,
}

const WORDS: [&str; 5] = ["needle", "nëedle", "need\nle", "12345678", "Exit Code: 3"];

fn large() -> impl Strategy<Value = Large> {
    (
        any::<prop::sample::Index>(),
        0..4_u8,
        prop::sample::select(&WORDS[..]),
        0..40_000_usize,
        prop::sample::select(vec!["x", "ab \n", "é\"", "\\"]),
        any::<bool>(),
    )
        .prop_map(|(place, shape, word, at, filling, codes)| Large {
            place,
            shape,
            word,
            at,
            filling,
            codes,
        })
}

impl Large {
    fn value(&self) -> Value {
        let filler = |length: usize| self.filling.repeat(length / self.filling.len());
        let pieces = || (0..self.at / 8).map(|index| json!(index));
        match self.shape {
            0 => format!("{}{}{}", filler(self.at), self.word, filler(30_000)).into(),
            1 => pieces().chain([json!({"word": self.word}), filler(30_000).into()]).collect(),
            2 => {
                let members =
                    pieces().enumerate().map(|(index, piece)| (format!("k{index}"), piece));
                let last = (0..20).map(|index| (format!("m{index}"), filler(20_000).into()));
                let word = [("word".to_owned(), json!([[self.word]]))];
                members.chain(last).chain(word).collect::<serde_json::Map<_, _>>().into()
            }
            _ => json!([[], {}, [[filler(20_000), null, self.word]], [true, filler(10)]]),
        }
    }

    /// Puts it at one of the places of a payload; returns the text.
    fn put_into(&self, payload: &Value) -> String {
        let mut payload = payload.clone();
        let mut pointers = Vec::new();
        collect(&payload, String::new(), &mut pointers);
        // Half of the time below a tool's input or output, where it is in real life.
        let likely: Vec<String> = pointers
            .iter()
            .filter(|pointer| {
                ["tool_", "args", "output", "state"].iter().any(|part| pointer.contains(part))
            })
            .cloned()
            .collect();
        let places =
            if self.at.is_multiple_of(2) || likely.is_empty() { &pointers } else { &likely };
        let place = payload.pointer_mut(self.place.get(places).as_str()).unwrap();
        match place {
            Value::Object(fields) if !self.at.is_multiple_of(3) => {
                fields.insert("command".to_owned(), self.value());
            }
            _ => *place = self.value(),
        }
        let text = payload.to_string();
        if !self.codes {
            return text;
        }
        let mut written = String::new();
        for character in text.chars() {
            if character.is_ascii() {
                written.push(character);
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    written.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        written
    }
}

/// Lists the places of a value, but for itself.
fn collect(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        _ => Vec::new(),
    };
    for (name, value) in members {
        let name = name.replace('~', "~0").replace('/', "~1");
        collect(value, format!("{pointer}/{name}"), pointers);
    }
    if !pointer.is_empty() {
        pointers.push(pointer);
    }
}

/// A hook: what it waits for, and what it does.
#[derive(Clone, Debug)]
struct Guard {
    trigger: &'static str,
    tool: Option<&'static str>,
    pattern: Option<&'static str>,
    script: &'static str,
}

fn guard() -> impl Strategy<Value = Guard> {
    let tool = prop::sample::select(vec!["Shell", "Bash", "WriteFile|Write", "mcp__.*", "Nobody"]);
    let pattern = prop::sample::select(vec![
        "needle",
        "^needle$",
        "n(ë|é)edle",
        "need\\nle",
        "needle$",
        "[0-9]{8}",
        "absent",
        "word",
        "x$",
        "^99$",
        "(?i)NEEDLE",
    ]);
    let script = prop::sample::select(vec!["echo no >&2; exit 2", "exit 0", "echo {}; exit 1"]);
    (
        prop::sample::select(vec!["before_tool", "after_tool", "before_agent", "before_stop"]),
        prop::option::of(tool),
        prop::option::weighted(0.8, pattern),
        script,
    )
        .prop_map(|(trigger, tool, pattern, script)| Guard { trigger, tool, pattern, script })
}

fn install(guards: &[Guard], home: &Path) {
    for (index, guard) in guards.iter().enumerate() {
        let folder = home.join(format!("hooks/g{index}"));
        fs::create_dir_all(folder.join("scripts")).unwrap();
        let mut text = format!("---\nname: g{index}\ndescription: d\ntrigger: {}\n", guard.trigger);
        if guard.tool.is_some() || guard.pattern.is_some() {
            text += "matcher:\n";
        }
        for (name, expression) in [("tool", guard.tool), ("pattern", guard.pattern)] {
            if let Some(expression) = expression {
                text += &format!("  {name}: '{expression}'\n");
            }
        }
        fs::write(folder.join("HOOK.md"), text + "---\n").unwrap();
        fs::write(folder.join("scripts/run.sh"), format!("cat >/dev/null; {}\n", guard.script))
            .unwrap();
    }
}

/// Answers a payload; returns what was said and what was written down, without what differs each
/// time.
fn answer(
    host: &dyn Host,
    payload: &str,
    world: &Path,
    name: &str,
    large: usize,
) -> (Reply, Vec<Record>) {
    let state = world.join(name);
    let engine = Engine::new(Places {
        managed: "/nowhere".into(),
        user: Some(world.join("home")),
        state: Some(state.clone()),
        home: None,
        binary: None,
    });
    let caller = Caller::new(world, "2026-01-01T00:00:00Z".parse().unwrap());
    let mut reply = engine.with_partial_threshold(large).dispatch(host, payload, &caller, None);
    let journal = Journal::new(&state);
    let mut records = Vec::new();
    journal.reader().read_on(&mut |record| records.push(record)).unwrap();
    for record in &mut records {
        for text in [&mut reply.stdout, &mut reply.stderr] {
            *text = text.replace(record.id.as_str(), "ID");
        }
        if let Some(reply) = &mut record.reply {
            reply.stdout = reply.stdout.replace(record.id.as_str(), "ID");
            reply.stderr = reply.stderr.replace(record.id.as_str(), "ID");
        }
        record.id = anyhook_model::RecordId::from_text("ID");
        record.with = record.with.take().map(|_| record.id.clone());
        record.verdict.id = None;
        record.at = jiff::Timestamp::UNIX_EPOCH;
        record.took_us = 0;
        for run in &mut record.runs {
            run.took_us = 0;
        }
        // How much of a list is missing is told as it is written, or as it would be.
        let shown = |about: String| about.split("… (").next().map(str::to_owned);
        record.about = record.about.take().and_then(shown);
    }
    (reply, records)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_in_part_ends_as_what_is_read_in_full(
        which in any::<prop::sample::Index>(),
        large in large(),
        guards in prop::collection::vec(guard(), 0..4),
    ) {
        let (host, payload) = which.get(payloads());
        let text = large.put_into(payload);
        let world = tempfile::tempdir().unwrap();
        install(&guards, &world.path().join("home"));
        let in_part = answer(*host, &text, world.path(), "part", 0);
        let in_full = answer(*host, &text, world.path(), "full", usize::MAX);
        prop_assert_eq!(in_part, in_full);
    }
}

#[test]
fn what_is_late_in_a_long_list_is_still_a_path_or_a_command() {
    let filler: Vec<Value> = (0..3_000).map(|number| json!(format!("filler {number}"))).collect();
    let with = |last: Value| -> Value { filler.iter().cloned().chain([last]).collect() };
    let guards = [
        Guard {
            trigger: "before_tool",
            tool: None,
            pattern: Some("^vendor/a$"),
            script: "echo no >&2; exit 2",
        },
        Guard {
            trigger: "before_tool",
            tool: Some("Shell"),
            pattern: None,
            script: "echo no >&2; exit 2",
        },
    ];
    for input in [
        json!({"paths": with(json!("./vendor//a"))}),
        json!({"items": with(json!({"path": "./vendor//a"}))}),
        json!({"items": with(json!({"command": "ls"}))}),
        json!({"path": "./".repeat(20_000) + "vendor/a"}),
    ] {
        let payload = json!({
            "event_type": "before_tool", "session_id": "s", "tool_name": "Frobnicate",
            "tool_input": input, "tool_use_id": "t",
        });
        let world = tempfile::tempdir().unwrap();
        install(&guards, &world.path().join("home"));
        fs::create_dir(world.path().join(".git")).unwrap();
        let (reply, _) = answer(&OpenFormat, &payload.to_string(), world.path(), "part", 0);
        assert_eq!(reply.exit_code, 2, "{}", &payload.to_string()[..200]);
    }
}

/// The open format, which notes how much it is given to read.
#[derive(Default)]
struct Watched(Mutex<Vec<usize>>);

impl Host for Watched {
    fn id(&self) -> &'static str {
        OpenFormat.id()
    }

    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        self.0.lock().unwrap().push(payload.len());
        OpenFormat.decode(payload, caller)
    }

    fn opaque_fields(&self) -> &'static [OpaqueField] {
        OpenFormat.opaque_fields()
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        OpenFormat.encode(event, verdict)
    }

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        OpenFormat.refuse(error, guarded)
    }
}

/// Returns how long the texts were that were read as a tree.
fn read(payload: &Value, guards: &[Guard]) -> Vec<usize> {
    let world = tempfile::tempdir().unwrap();
    install(guards, &world.path().join("home"));
    let host = Watched::default();
    answer(&host, &payload.to_string(), world.path(), "state", 1000);
    host.0.into_inner().unwrap()
}

#[test]
fn only_what_concerns_a_hook_is_read_in_full() {
    let guard = |tool, pattern| Guard { trigger: "before_tool", tool, pattern, script: "exit 0" };
    let text = "a long text with a needle in it, ".repeat(4000);
    let payload = json!({
        "event_type": "before_tool", "tool_name": "Shell", "tool_use_id": "t",
        "tool_input": {"command": text}, "session_id": "s",
    });
    let in_full = |payload: &Value, guards: &[Guard]| {
        read(payload, guards).contains(&payload.to_string().len())
    };
    let with = |guards: &[Guard]| in_full(&payload, guards);
    assert!(!with(&[]));
    assert!(!with(&[guard(Some("WriteFile"), None)]));
    assert!(!with(&[guard(Some("Shell"), Some("absent"))]));
    assert!(!with(&[Guard { trigger: "after_tool", ..guard(None, None) }]));
    assert!(with(&[guard(None, None)]));
    assert!(with(&[guard(Some("Shell"), Some("needle"))]));
    assert!(with(&[guard(Some("WriteFile"), None), guard(None, Some("[x-z]"))]));

    let other = |name: &str, value: Value| {
        let mut payload = payload.clone();
        payload[name] = value;
        in_full(&payload, &[])
    };
    assert!(other("tool_use_id", Value::Null), "the call is known by all of its input");
    assert!(other("event_type", "permission_request".into()), "a person may be asked");
    assert!(!other("tool_output", text.clone().into()));
}
