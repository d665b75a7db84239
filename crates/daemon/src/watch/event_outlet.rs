//! Converts a log's observations into events of an agent, and sends them.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;

use anyhook_hosts::log::{Activity, LogObservation};
use anyhook_model::agent::agent_id;
use anyhook_model::bus::{AgentFailed, AgentPrompt, AgentReport};
use anyhook_model::{BusEvent, StateSource};

use super::LogUpdate;
use super::locations::WatchedHost;
use super::position::LogPosition;
use super::wake_signal::WakeSignal;

/// The receiver was dropped.
#[derive(Debug)]
pub(super) struct ReceiverGone;

/// Where reports are sent.
#[derive(Debug)]
pub(super) struct EventOutlet {
    out: SyncSender<LogUpdate>,
    bell: Arc<WakeSignal>,
}

impl EventOutlet {
    /// How long to wait before sending to a full channel is tried again.
    const FULL: Duration = Duration::from_millis(20);

    pub fn new(out: SyncSender<LogUpdate>, bell: Arc<WakeSignal>) -> Self {
        Self { out, bell }
    }

    /// Reports a log's observation, with the position after it. A log without a session belongs to
    /// no agent.
    pub fn tell(
        &self,
        host: WatchedHost,
        says: LogObservation,
        position: LogPosition,
    ) -> Result<(), ReceiverGone> {
        let Some(report) = report(host, says, &position) else { return Ok(()) };
        let mut watched = LogUpdate { report, position };
        loop {
            watched = match self.out.try_send(watched) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(_)) => return Err(ReceiverGone),
                Err(TrySendError::Full(watched)) => watched,
            };
            if self.bell.is_over_after(Self::FULL) {
                return Err(ReceiverGone);
            }
        }
    }
}

fn report(host: WatchedHost, says: LogObservation, position: &LogPosition) -> Option<BusEvent> {
    let session = position.state.session.clone()?;
    let report = AgentReport {
        agent: agent_id(host.0.id(), &session),
        source: StateSource::Log,
        at: says.at,
        host: Some(host.0.id().to_owned()),
        session: Some(session),
        work_dir: position.state.work_dir.clone(),
        log: Some(position.path.clone()),
        likely: !says.is_certain,
        ..AgentReport::default()
    };
    Some(match says.doing {
        Activity::Working => BusEvent::AgentWorking(report),
        Activity::Idle => BusEvent::AgentIdle(report),
        Activity::BrokenOff => BusEvent::AgentIdle(AgentReport { broken_off: true, ..report }),
        Activity::Prompting(prompt_type) => {
            BusEvent::AgentPrompt(AgentPrompt { report, prompt_type })
        }
        Activity::Failed(kind, message) => {
            let message = Some(message).filter(|message| !message.is_empty());
            BusEvent::AgentFailed(AgentFailed { report, kind, message })
        }
    })
}
