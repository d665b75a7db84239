//! What `anyhook doctor --prove` sends to an agent's entry, and which answer is the agent's denial.

use std::collections::BTreeSet;
use std::path::Path;

use anyhook_hosts::AGENTS;
use anyhook_model::{Caller, Effect, Host, Verdict};

/// At every event at which hooks can block, there is a payload that is decoded as such an event, and
/// a denial that silence cannot be taken for.
#[test]
fn every_event_that_can_be_blocked_has_a_canary() {
    let root = Path::new("/p");
    let caller = Caller::new(root, jiff::Timestamp::UNIX_EPOCH);
    for agent in AGENTS {
        let rows = || agent.protocol.capabilities.iter().filter(|row| row.block);
        let natives: BTreeSet<&str> = rows().filter_map(|row| row.native).collect();
        assert!(!natives.is_empty(), "{}", agent.id());
        for native in natives {
            let at = format!("{} at {native}", agent.id());
            let payload = agent.shell_payload_at(native, "touch x", "s", root);
            let events = agent.protocol.decode(&payload, &caller).expect(&at);
            let event = &events[0];
            assert!(rows().any(|row| row.event == event.kind), "{at}: {}", event.kind);
            let told = |effect: Option<Effect>| {
                let reason = effect.map(|_| "why".to_owned());
                agent.protocol.encode(event, &Verdict { effect, reason, ..Verdict::default() })
            };
            let (denied, silent) = (told(Some(Effect::Deny)), told(None));
            let seen = |reply: &anyhook_model::Reply| (reply.exit_code, reply.stdout.clone());
            assert_ne!(seen(&denied), seen(&silent), "{at}");
            assert_eq!(denied.lost, [], "{at}");
        }
    }
}
