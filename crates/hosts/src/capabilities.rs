//! Capabilities and quirks of a host: data that is shown and tested.

use anyhook_model::EventKind;

/// What a host lets a hook do at one event.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four columns of a table, each a yes or no")]
pub struct Capability {
    /// The event.
    pub event: EventKind,
    /// The host's own name for it; `None` if the host has no such event.
    pub native: Option<&'static str>,
    /// A hook can block.
    pub block: bool,
    /// A hook can change the tool's input.
    pub modify: bool,
    /// A hook can add context for the model.
    pub context: bool,
    /// A hook can have the user asked.
    pub ask: bool,
}

/// Creates a row; `powers` is any of `B`lock, `M`odify, `C`ontext, `A`sk.
pub(crate) const fn can(event: EventKind, native: &'static str, powers: &str) -> Capability {
    Capability {
        event,
        native: Some(native),
        block: has(powers, b'B'),
        modify: has(powers, b'M'),
        context: has(powers, b'C'),
        ask: has(powers, b'A'),
    }
}

const fn has(powers: &str, power: u8) -> bool {
    let (powers, mut at) = (powers.as_bytes(), 0);
    while at < powers.len() {
        if powers[at] == power {
            return true;
        }
        at += 1;
    }
    false
}

/// Creates the row of an event that a host does not have.
pub(crate) const fn lacks(event: EventKind) -> Capability {
    Capability { event, native: None, block: false, modify: false, context: false, ask: false }
}

/// A way in which a host differs from what you would expect.
#[derive(Clone, Copy, Debug)]
pub struct Quirk {
    /// A short, stable name.
    pub id: &'static str,
    /// The versions it was seen in.
    pub versions: &'static str,
    /// What the host does.
    pub behaviour: &'static str,
    /// What anyhook does about it.
    pub mitigation: &'static str,
    /// How it is known: `run` (the real program was run), `docs` or `source`.
    pub evidence: &'static str,
}
