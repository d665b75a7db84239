//! The synchronous driver: a host's payload in, its reply out.
//!
//! ```text
//! dispatch              payload.rs     a payload: one event or several, one reply
//! ├─ decode             decode.rs      bytes to events; partial_decode.rs if there are very many
//! ├─ dispatch_one       event.rs       one event
//! │  ├─ open_one        open_close.rs  its session (session_effects.rs), its hooks (find_hooks.rs)
//! │  ├─ run, detach     script.rs      each script, as crate::dispatch hands them out
//! │  └─ close_one       open_close.rs  stop_cap.rs, call_id.rs, raise_alarms.rs
//! ├─ request_approval,  ask.rs         a person, or the fallback for their answer
//! │  decide_unasked
//! └─ build, journal     record.rs      what the journal gets
//! ```
//!
//! What cannot be dispatched is refused (`refuse.rs`), and what an agent calls twice is handled once
//! (`foreign_entry.rs`). A driver of its own, as the SDK has, calls
//! [`Engine::open`] and [`Engine::close`] and drives [`crate::dispatch::Dispatch`] between them.

mod ask;
mod call_id;
mod decode;
mod event;
mod explain;
mod find_hooks;
mod foreign_entry;
mod open_close;
mod partial_decode;
mod payload;
mod raise_alarms;
mod record;
mod refuse;
mod script;
mod session_effects;
mod stop_cap;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhook_model::{EventKind, RecordId};

use crate::approval::Approver;
use crate::places::Places;
use crate::run::ProcessRunner;
use crate::run::interruption::IsIgnored;
use crate::run::process::random_bits;

pub use call_id::{call_of, changed_call_of};
pub use explain::explain;
pub use find_hooks::EventHooks;
pub use open_close::{DispatchedEvent, OpenedEvent};
pub use script::PreparedScript;

/// Dispatches events to hooks, one after another.
#[derive(Debug)]
pub struct Engine {
    places: Places,
    runner: ProcessRunner,
    /// Whether an agent started this process, so that records can name it.
    names_agent: bool,
    person: Option<Box<dyn Approver>>,
    /// Whether hooks are found by the index.
    by_index: bool,
    /// Finds the program on demand where the places do not name it.
    find_binary: Option<fn() -> Option<PathBuf>>,
    binary: OnceCell<Option<PathBuf>>,
    /// Payloads longer than this are decoded in part, if no hook needs more.
    large: usize,
    /// Called with the event's kind, before any hook is asked.
    tell_kind: Option<fn(&EventKind)>,
    /// Called with the name of each hook that is started.
    tell_run: Option<fn(&str)>,
}

impl Engine {
    /// Makes an engine for the given places.
    pub fn new(places: Places) -> Self {
        Self {
            places,
            runner: ProcessRunner::default(),
            names_agent: false,
            person: None,
            by_index: false,
            find_binary: None,
            binary: OnceCell::new(),
            large: partial_decode::LARGE,
            tell_kind: None,
            tell_run: None,
        }
    }

    /// Finds hooks by the index: the same answer, at less cost.
    pub fn with_index(mut self) -> Self {
        self.by_index = true;
        self
    }

    /// Asks a person where the settings say so.
    pub fn with_person(mut self, person: impl Approver + 'static) -> Self {
        self.person = Some(Box::new(person));
        self
    }

    /// Sets the length above which payloads are decoded only in part, if no hook needs more. It
    /// affects nothing but time and memory.
    pub fn with_partial_threshold(mut self, bytes: usize) -> Self {
        self.large = bytes;
        self
    }

    /// Declares that an agent started this process to answer one payload: records then name the
    /// agent.
    pub fn configure_for_hook_process(&mut self, is_ignored: IsIgnored) {
        self.names_agent = true;
        self.by_index = true;
        self.adopt_orphans();
        self.heed_signals(is_ignored);
    }

    /// Reparents orphans of hooks to this process, so that none survives its hook's time limit.
    ///
    /// For a process that does nothing else: it changes whose child an orphan is.
    pub fn adopt_orphans(&mut self) {
        self.runner = ProcessRunner::adopting();
    }

    /// Makes a signal that asks this process to end (INT, TERM, HUP) end the running hook first,
    /// with everything it started; its `on_failure` then decides. For a process that checks
    /// [`Self::interrupted`] afterwards. Call it after [`Self::adopt_orphans`].
    pub fn heed_signals(&mut self, is_ignored: IsIgnored) {
        self.runner.heed_signals(is_ignored);
    }

    /// Returns the signal that asked this process to end while hooks ran, if one did.
    pub fn interrupted(&self) -> Option<i32> {
        self.runner.interrupted()
    }

    /// Looks for the program on demand, where the places do not name it: most events do not need
    /// it, and looking costs as much as reading the event.
    pub fn find_binary_by(&mut self, find: fn() -> Option<PathBuf>) {
        self.find_binary = Some(find);
    }

    /// Calls a function with the event's kind, before any hook is asked.
    pub fn tell_kind_to(&mut self, told: fn(&EventKind)) {
        self.tell_kind = Some(told);
    }

    /// Calls a function with the name of each hook that is waited for, before it is started.
    pub fn tell_run_to(&mut self, told: fn(&str)) {
        self.tell_run = Some(told);
    }

    /// Returns the places.
    pub fn places(&self) -> &Places {
        &self.places
    }

    fn binary(&self) -> Option<&Path> {
        let find = || self.places.binary.clone().or_else(|| self.find_binary?());
        self.binary.get_or_init(find).as_deref()
    }
}

/// Generates an id for a record, a run, or anything else that needs one.
pub fn new_id() -> RecordId {
    RecordId::from_random(random_bits())
}

/// Returns the current time, to the millisecond.
pub fn now() -> jiff::Timestamp {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
