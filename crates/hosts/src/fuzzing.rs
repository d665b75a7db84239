//! Entry points for the fuzz targets: each accepts any bytes and must return.

use anyhook_model::json::Object;
use anyhook_model::{Caller, Effect, Host, Reply, Spelling, Verdict};
use jiff::Timestamp;

use crate::AGENTS;

/// Decodes bytes as a payload of every agent, and encodes replies to the resulting events.
pub fn payload(data: &[u8]) {
    let caller = Caller::new("/", Timestamp::UNIX_EPOCH);
    let deny = Verdict { effect: Some(Effect::Deny), ..Verdict::default() };
    for agent in AGENTS {
        let Ok(events) = agent.protocol.decode(data, &caller) else { continue };
        for event in &events {
            let _ = event.to_json(Spelling::Canonical);
            let silent = agent.protocol.encode(event, &Verdict::default());
            assert!(is_silence(&silent), "no opinion is silence");
            let reply = agent.protocol.encode(event, &deny);
            let said = !reply.stdout.is_empty() || !reply.stderr.is_empty();
            assert!(
                said || !reply.lost.is_empty(),
                "a deny is said, or it is said that it was lost"
            );
        }
    }
}

/// Returns whether a reply says nothing: it is empty or, for an agent that takes a missing reply for a
/// refusal, has fields without a value.
fn is_silence(reply: &Reply) -> bool {
    let is_blank = |fields: Object| fields.values().all(|value| value == "");
    let is_empty = reply.stdout.is_empty();
    reply.exit_code == 0 && (is_empty || serde_json::from_str(&reply.stdout).is_ok_and(is_blank))
}

/// Parses bytes as the settings of every agent: wiring twice is the same as wiring once.
pub fn settings(data: &[u8]) {
    use crate::wiring::{HookInvocation, SettingsScope, SettingsTexts};
    let text = String::from_utf8_lossy(data).into_owned();
    let scope = SettingsScope {
        home: "/home".into(),
        config_home: "/home/.config".into(),
        project: None,
        variables: std::collections::BTreeMap::new(),
    };
    let call = HookInvocation::to("/anyhook");
    for agent in AGENTS {
        let texts: SettingsTexts =
            agent.settings.files(&scope).into_iter().map(|path| (path, text.clone())).collect();
        let Ok(edits) = agent.settings.wire(&scope, &texts, &call) else { continue };
        let wired: SettingsTexts =
            edits.iter().filter_map(|(path, text)| Some((path.clone(), text.clone()?))).collect();
        let again = agent.settings.wire(&scope, &wired, &call).expect("what we write we can read");
        assert_eq!(again, edits);
        let _ = agent.settings.unwire(&scope, &wired).expect("what we write we can take away");
    }
}

/// Parses bytes as the lines of every agent's log: the state kept about it stays small.
pub fn log(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for agent in AGENTS {
        let mut state = agent.begin_log("log.jsonl");
        for line in text.lines() {
            let _ = agent.read_log_line(&mut state, line);
        }
        assert!(state.waits.len() <= 64, "what is remembered is bounded");
    }
}

/// Parses bytes as the transcript of every agent that has one.
pub fn transcript(data: &[u8]) {
    for reader in AGENTS.into_iter().filter_map(|agent| agent.transcript) {
        let read = (reader.read)(data);
        assert!(read.payloads.is_sorted_by_key(|made| made.line), "in the order of their lines");
        assert!(read.payloads.iter().all(|made| made.payload.contains_key("hook_event_name")));
    }
}

/// Parses bytes as a bus event: what can be parsed can be written and parsed again.
pub fn happening(data: &[u8]) {
    use anyhook_model::BusEvent;
    let Ok(event) = serde_json::from_slice::<BusEvent>(data) else { return };
    let text = serde_json::to_string(&event).expect("what we read we can write");
    let again: BusEvent = serde_json::from_str(&text).expect("what we write we can read");
    assert_eq!(again, event);
}
