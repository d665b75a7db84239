//! Looks at an agent's screen for dialogs that no hook tells of, such as whether a folder is to be
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

/// How long it is between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(700);

/// After so many looks without it a dialog is gone.
const GONE_LOOKS: u32 = 2;

/// Looks at a screen until it is told to end.
#[derive(Debug)]
pub(super) struct ScreenWatch {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl ScreenWatch {
    /// Begins to look.
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

    /// Ends looking.
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
    /// How many looks have not seen it since.
    looks_without: u32,
}

impl ScreenPoller {
    fn look(&mut self, messages: &mpsc::Sender<CoreMessage>) {
        let Some(host) = self.host else { return };
        // What the agent tells of itself from here on is newer than what is seen.
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
            // One that is drawn anew may be gone for a look.
            self.looks_without += 1;
            if self.looks_without < GONE_LOOKS {
                return;
            }
        }
        self.looks_without = 0;
        // Between one dialog and the next the agent went on, whoever answered the first.
        // Of dialogs that hooks tell of, these also tell when one of several was answered.
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
    // A loop that has ended needs to know nothing.
    let _ = messages.blocking_send(CoreMessage::Screen(Box::new(event)));
}
