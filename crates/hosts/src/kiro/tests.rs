//! Kiro: a shell call, and where our entries are.

use std::path::{Path, PathBuf};

use anyhook_model::{Caller, Effect, EventKind, Host, Verdict};

use super::{PROTOCOL, SPEC};
use crate::wiring::{HookInvocation, SettingsScope, SettingsTexts};

#[test]
fn a_shell_call_is_denied() {
    let payload = SPEC.shell_payload("rm -rf /", "session", Path::new("/p"));
    let caller = Caller::new("/elsewhere", "2026-11-17T00:00:00Z".parse().expect("a time"));
    let events = PROTOCOL.decode(&payload, &caller).expect("it is the agent's");
    let event = &events[0];
    assert_eq!(event.kind, EventKind::BeforeTool);
    assert_eq!(event.session.as_deref(), Some("session"));
    assert_eq!(event.work_dir, Path::new("/p"));
    let tool = event.tool.as_ref().expect("a call");
    assert_eq!((tool.name.as_str(), &tool.input["command"]), ("Shell", &"rm -rf /".into()));
    let reason = Some("not here".to_owned());
    let deny = Verdict { effect: Some(Effect::Deny), reason, ..Verdict::default() };
    let reply = PROTOCOL.encode(event, &deny);
    assert!(format!("{}{}", reply.stdout, reply.stderr).contains("not here"), "{reply:?}");
    assert!(reply.lost.is_empty(), "{reply:?}");
}

#[test]
fn what_install_writes_is_found_and_taken_out_again() {
    for project in [None, Some(PathBuf::from("/src/it"))] {
        let scope = SettingsScope {
            home: "/home/you".into(),
            config_home: "/home/you/.config".into(),
            project,
            variables: std::collections::BTreeMap::new(),
        };
        let edits =
            SPEC.settings.wire(&scope, &SettingsTexts::new(), &HookInvocation::to("/b/anyhook"));
        let texts: SettingsTexts = edits
            .expect("new settings")
            .into_iter()
            .filter_map(|(path, text)| Some((path, text?)))
            .collect();
        let found = SPEC.settings.inspect(&scope, &texts).expect("our own settings");
        assert!(found.missing.is_empty() && found.before_tool.is_some(), "{found:?}");
        let left = SPEC.settings.unwire(&scope, &texts).expect("our own settings");
        let text = left.values().next().expect("a change").as_deref().unwrap_or_default();
        assert!(!text.contains("anyhook hook"), "{text}");
    }
}
