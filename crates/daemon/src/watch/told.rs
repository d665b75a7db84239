//! What a log tells, as what happened to an agent; and how it goes out.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;

use anyhook_hosts::log::{Doing, LogSays};
use anyhook_model::agent::agent_id;
use anyhook_model::bus::{AgentFailed, AgentPrompt, AgentReport};
use anyhook_model::{BusEvent, Source};

use super::Watched;
use super::bell::Bell;
use super::places::Host;
use super::position::LogPosition;

/// Nobody wants to hear more.
#[derive(Debug)]
pub(super) struct Over;

/// Where what is told goes.
#[derive(Debug)]
pub(super) struct Outlet {
    out: SyncSender<Watched>,
    bell: Arc<Bell>,
}

impl Outlet {
    /// How long to wait before a full outlet is tried again.
    const FULL: Duration = Duration::from_millis(20);

    pub fn new(out: SyncSender<Watched>, bell: Arc<Bell>) -> Self {
        Self { out, bell }
    }

    /// Tells what a log says, with the position behind it. A log without a session is nobody's.
    pub fn tell(&self, host: Host, says: LogSays, position: LogPosition) -> Result<(), Over> {
        let Some(report) = report(host, says, &position) else { return Ok(()) };
        let mut watched = Watched { report, position };
        loop {
            watched = match self.out.try_send(watched) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(_)) => return Err(Over),
                Err(TrySendError::Full(watched)) => watched,
            };
            if self.bell.is_over_after(Self::FULL) {
                return Err(Over);
            }
        }
    }
}

fn report(host: Host, says: LogSays, position: &LogPosition) -> Option<BusEvent> {
    let session = position.state.session.clone()?;
    let report = AgentReport {
        agent: agent_id(host.0.id(), &session),
        source: Source::Log,
        at: says.at,
        host: Some(host.0.id().to_owned()),
        session: Some(session),
        work_dir: position.state.work_dir.clone(),
        log: Some(position.path.clone()),
        likely: !says.is_certain,
        ..AgentReport::default()
    };
    Some(match says.doing {
        Doing::Working => BusEvent::AgentWorking(report),
        Doing::Idle => BusEvent::AgentIdle(report),
        Doing::BrokenOff => BusEvent::AgentIdle(AgentReport { broken_off: true, ..report }),
        Doing::Prompting(prompt_type) => BusEvent::AgentPrompt(AgentPrompt { report, prompt_type }),
        Doing::Failed(kind, message) => {
            let message = Some(message).filter(|message| !message.is_empty());
            BusEvent::AgentFailed(AgentFailed { report, kind, message })
        }
    })
}
