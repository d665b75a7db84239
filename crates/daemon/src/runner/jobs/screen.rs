//! Watches an agent's screen for dialogs that no hook reports, such as whether a folder is to be
//! trusted.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhook_hosts::HostSpec;
use anyhook_hosts::dialog::Dialog;
use anyhook_model::bus::{AgentPrompt, AgentReport};
use anyhook_model::pipeline::AgentPlan;
use anyhook_model::{BusEvent, StateSource};
use jiff::Timestamp;
use tokio::sync::mpsc;

use super::JobRunner;
use crate::core::CoreMessage;
use crate::session::Session;

/// The interval between two reads of the screen.
const LOOK_EVERY: Duration = Duration::from_millis(700);

/// After this many reads without it, a dialog is gone.
const GONE_LOOKS: u32 = 2;

/// Watches a screen until it is told to end.
#[derive(Debug)]
pub(super) struct ScreenWatch {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl ScreenWatch {
    /// Starts watching.
    pub(super) fn begin(
        runner: &JobRunner,
        agent: &str,
        plan: &AgentPlan,
        session: &Session,
    ) -> Self {
        let host = plan.host.as_deref().and_then(anyhook_hosts::find);
        let looker = ScreenPoller {
            agent: agent.to_owned(),
            host,
            session: session.clone(),
            shown: None,
            looks_without: 0,
        };
        let messages = runner.messages.clone();
        let (end, ends) = channel::<()>();
        let look = move || {
            let mut looker = looker;
            while ends.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                looker.look(&messages);
            }
        };
        let thread = thread::Builder::new().name("screen".to_owned()).spawn(look);
        if let Err(error) = &thread {
            tracing::error!("not watching {agent}'s screen: {error}");
        }
        Self { thread: thread.ok().map(|thread| (end, thread)) }
    }

    /// Stops watching.
    pub(super) fn end(self) {
        if let Some((end, thread)) = self.thread {
            drop(end);
            let _ = thread.join();
        }
    }
}

struct ScreenPoller {
    agent: String,
    host: Option<&'static HostSpec>,
    session: Session,
    /// The dialog that was last seen, and when.
    shown: Option<(Dialog, Timestamp)>,
    /// How many reads in a row have not seen it.
    looks_without: u32,
}

impl ScreenPoller {
    fn look(&mut self, messages: &mpsc::Sender<CoreMessage>) {
        let Some(host) = self.host else { return };
        // What the agent itself reports from here on is newer than what is on the screen.
        let at = anyhook_engine::now();
        let Ok(screen) = self.session.coloured() else { return };
        let dialog = host.dialog(&screen);
        match (&dialog, &mut self.shown) {
            (None, None) => return,
            (Some(now), Some((before, seen))) if now.is_same(before) => {
                self.looks_without = 0;
                *seen = at;
                return;
            }
            _ => {}
        }
        if dialog.is_none() {
            // A dialog that is being redrawn may be missing for one read.
            self.looks_without += 1;
            if self.looks_without < GONE_LOOKS {
                return;
            }
        }
        self.looks_without = 0;
        // Between one dialog and the next the agent continued, no matter who answered the first.
        // For dialogs that hooks report, hooks also report when one of several was answered.
        if let Some((shown, seen)) = &self.shown
            && !(shown.is_told && dialog.as_ref().is_some_and(|next| next.is_told))
        {
            tell(messages, BusEvent::AgentWorking(self.report(*seen)));
        }
        if let Some(dialog) = &dialog {
            let (about, likely) = (Some(dialog.words()), dialog.is_told);
            let report = AgentReport { about, likely, ..self.report(at) };
            let prompt_type = dialog.prompt_type;
            tell(messages, BusEvent::AgentPrompt(AgentPrompt { report, prompt_type }));
        }
        self.shown = dialog.map(|dialog| (dialog, at));
    }

    fn report(&self, at: Timestamp) -> AgentReport {
        AgentReport {
            agent: self.agent.clone(),
            source: StateSource::Screen,
            at: Some(at),
            host: self.host.map(|host| host.id().to_owned()),
            ..AgentReport::default()
        }
    }
}

fn tell(messages: &mpsc::Sender<CoreMessage>, event: BusEvent) {
    // A loop that has ended does not need to know.
    let _ = messages.blocking_send(CoreMessage::Screen(Box::new(event)));
}
