//! What a host can do and what it does otherwise than one would think: data, shown and tested.

use anyhook_model::{Event, EventKind};

/// What a host lets a hook do at one event.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four columns of a table, each a yes or no")]
pub struct Capability {
    /// The event.
    pub event: EventKind,
    /// The host's own name of it; none if the host has no such event.
    pub native: Option<&'static str>,
    /// A hook can block.
    pub block: bool,
    /// A hook can change the tool's input.
    pub modify: bool,
    /// A hook can tell the model something.
    pub context: bool,
    /// A hook can have the person asked.
    pub ask: bool,
}

/// Makes a row; `powers` is any of `B`lock, `M`odify, `C`ontext, `A`sk.
pub(crate) fn can(event: EventKind, native: &'static str, powers: &str) -> Capability {
    Capability {
        event,
        native: Some(native),
        block: powers.contains('B'),
        modify: powers.contains('M'),
        context: powers.contains('C'),
        ask: powers.contains('A'),
    }
}

/// Makes the row of an event a host does not have.
pub(crate) fn lacks(event: EventKind) -> Capability {
    Capability { event, native: None, block: false, modify: false, context: false, ask: false }
}

/// Tells whether a person can be asked at an event.
pub(crate) fn can_ask(capabilities: &[Capability], event: &Event) -> bool {
    capabilities.iter().any(|row| row.event == event.kind && row.ask)
}

/// A way in which a host differs from what one would think.
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
