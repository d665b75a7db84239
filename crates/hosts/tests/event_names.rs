//! Names of events: what a host calls its own is known to whoever writes a `trigger`.

use anyhook_hosts::AGENTS;
use anyhook_model::{EventKind, Spelling};

#[test]
fn every_native_event_name_is_read_as_the_event_it_is_decoded_to() {
    for agent in AGENTS {
        let capabilities = agent.capabilities();
        for native in capabilities.iter().filter_map(|row| row.native) {
            let rows = capabilities.iter().filter(|row| row.native == Some(native));
            let kinds: Vec<EventKind> = rows.map(|row| row.event.clone()).collect();
            let (kind, spelling) = EventKind::in_any_spelling(native)
                .unwrap_or_else(|| panic!("{}: {native} is unknown", agent.id()));
            assert_eq!(spelling, Spelling::Canonical, "{native}");
            // One that is several events is the one that can be blocked.
            assert!(kinds.contains(&kind), "{}: {native} is {kinds:?}, not {kind}", agent.id());
        }
    }
}
