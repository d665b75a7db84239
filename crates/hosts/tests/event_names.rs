//! Names of events: what a host calls its own is known to whoever writes a `trigger`.

#![expect(clippy::unwrap_used, reason = "a test may")]

use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::event::CallDoubt;
use anyhook_model::{Caller, Event, EventKind, Host, Spelling};
use serde_json::json;

/// What a host's event of a name is decoded to.
fn decoded(agent: &HostSpec, name: &str) -> Event {
    let caller = Caller::new("/p", "2026-01-01T00:00:00Z".parse().unwrap());
    let payload = if ["kilo", "opencode"].contains(&agent.id()) {
        json!({"hook": name, "input": {"tool": "bash"}, "output": {"args": {"command": "ls"}}})
    } else {
        json!({
            "hook_event_name": name, "tool_name": "Bash", "tool_input": {"command": "ls"},
            "prompt": "x", "trigger": "manual",
        })
    };
    agent.protocol.decode(payload.to_string().as_bytes(), &caller).unwrap().remove(0)
}

#[test]
fn an_event_is_read_in_any_case() {
    for agent in AGENTS {
        for native in agent.protocol.capabilities.iter().filter_map(|row| row.native) {
            let kind = decoded(agent, native).kind;
            if matches!(kind, EventKind::Other(_)) {
                // What it is follows from more than its name.
                continue;
            }
            for name in [
                native.to_lowercase(),
                native.to_uppercase(),
                native.replace('.', "_"),
                format!("{native}\u{200b}"),
            ] {
                assert_eq!(decoded(agent, &name).kind, kind, "{}: {name}", agent.id());
            }
        }
        for name in ["Before_Tool", "before_tool_call", "pre_tool", "PreTool"] {
            let event = decoded(agent, name);
            assert_eq!(event.kind, EventKind::BeforeTool, "{}: {name}", agent.id());
            let call = event.tool.unwrap();
            assert!(call.names().any(|name| name == "Shell"), "{}: {name}", agent.id());
        }
    }
}

#[test]
fn an_unknown_event_with_a_tool_call_is_a_doubt() {
    for agent in AGENTS {
        let event = decoded(agent, "on_frobnicate");
        assert_eq!(event.doubt, Some(CallDoubt::UnknownEvent), "{}", agent.id());
        assert_eq!(event.kind, EventKind::Other("on_frobnicate".to_owned()));
    }
}

/// Agents' names that are the open format's second names, but for their separators.
const ALIASES: [&str; 2] = ["pre_tool_call", "post_tool_call"];

#[test]
fn every_native_event_name_is_read_as_the_event_it_is_decoded_to() {
    for agent in AGENTS {
        let capabilities = agent.protocol.capabilities;
        for native in capabilities.iter().filter_map(|row| row.native) {
            let rows = capabilities.iter().filter(|row| row.native == Some(native));
            let kinds: Vec<EventKind> = rows.map(|row| row.event.clone()).collect();
            let (kind, spelling) = EventKind::in_any_spelling(native)
                .unwrap_or_else(|| panic!("{}: {native} is unknown", agent.id()));
            let is_alias = ALIASES.contains(&native);
            let expected = if is_alias { Spelling::Alias } else { Spelling::Canonical };
            assert_eq!(spelling, expected, "{native}");
            // One that is several events is the one that can be blocked.
            assert!(kinds.contains(&kind), "{}: {native} is {kinds:?}, not {kind}", agent.id());
        }
    }
}
