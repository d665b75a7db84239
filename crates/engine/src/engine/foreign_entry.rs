//! Calls through entries in another agent's settings.
//!
//! Some agents also run the hooks in the settings of others, and an agent may have our package among
//! its plugins. Where such an agent has an entry of its own, it calls us twice about everything, and
//! the call through the other entry is dropped. Where it has none, or may not run it, that call is
//! the only one and is handled.

use anyhook_model::record::DOUBLE_CALL;
use anyhook_model::{Caller, Event, EventKind, ForeignEntry, Host, Reply, Verdict};

use super::Engine;
use super::open_close::{ClosedEvent, RecordContext};
use super::record::{Exchange, told};
use crate::dispatch::FinishedDispatch;
use crate::installation;
use crate::session::Session;
use crate::settings::DispatchSettings;
use crate::summary::summary;

impl Engine {
    /// Answers a call that the agent also makes through an entry of its own: with no opinion.
    /// Returns `None` for any other call.
    pub(super) fn drop_double(
        &self,
        host: &dyn Host,
        event: &Event,
        caller: &Caller,
    ) -> Option<Reply> {
        let entry = event.foreign_entry.as_deref()?;
        if !self.has_own_entry(entry, event) {
            return None;
        }
        let mut reply = host.encode(event, &Verdict::default());
        let facts = RecordContext {
            about: summary(event, &[]),
            agent_id: caller.agent_id.clone(),
            ..RecordContext::begin()
        };
        let kind = EventKind::Other(DOUBLE_CALL.to_owned());
        let dropped = Event {
            native_name: event.native_name.clone(),
            session: event.session.clone(),
            agent: event.agent.clone(),
            project_dir: event.project_dir.clone(),
            foreign_entry: event.foreign_entry.clone(),
            ..Event::new(kind, &event.host, &event.work_dir, event.at)
        };
        let closed = ClosedEvent::of(facts, FinishedDispatch::of(dropped));
        let exchange = Exchange { reply: Some(told(&reply)), ..Exchange::default() };
        let settings = DispatchSettings::default().journal(&self.places, None);
        let _ = self.journal_payload(vec![closed], exchange, settings, &mut reply);
        Some(reply)
    }

    /// Returns whether the agent that runs another's entry calls us through its own, too.
    ///
    /// That it is installed is not enough: the agent may not trust the project whose settings it is
    /// in, or may have started before. So the entry must also have called us in this session.
    /// Otherwise the event may be handled twice, but never by nobody.
    fn has_own_entry(&self, entry: &ForeignEntry, event: &Event) -> bool {
        let (Some(state), Some(id)) = (self.places.state.as_deref(), event.session.as_deref())
        else {
            return false;
        };
        let is_tool = event.kind == EventKind::BeforeTool;
        Session::new(state, &entry.run_by, id).is_known()
            && installation::is_in_place(state, &entry.run_by, &event.work_dir, is_tool)
    }
}
