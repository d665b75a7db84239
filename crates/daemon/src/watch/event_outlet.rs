//! Converts a log's observations into events of an agent, and sends them.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;

use anyhook_engine::call_of;
use anyhook_engine::redact::without_secrets;
use anyhook_flow::ran_calls::RanCall;
use anyhook_hosts::log::{Activity, ExecutedCall, LogObservation};
use anyhook_model::agent::agent_id;
use anyhook_model::bus::{AgentFailed, AgentPrompt, AgentReport};
use anyhook_model::{BusEvent, Caller, Host, StateSource};
use jiff::Timestamp;
use serde_json::Value;

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
        self.send(LogUpdate { report: Some(report), calls: Vec::new(), position })
    }

    /// Reports executed calls, with the position after them.
    pub fn tell_calls(
        &self,
        host: WatchedHost,
        calls: Vec<ExecutedCall>,
        folder: Option<&str>,
        position: LogPosition,
    ) -> Result<(), ReceiverGone> {
        let ran = |call| ran_call(host, call, folder, &position);
        let calls: Vec<RanCall> = calls.into_iter().filter_map(ran).collect();
        if calls.is_empty() {
            return Ok(());
        }
        self.send(LogUpdate { report: None, calls, position })
    }

    fn send(&self, mut watched: LogUpdate) -> Result<(), ReceiverGone> {
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

/// Returns a call with all that is known about it; a call that nothing identifies cannot be joined
/// with anything.
fn ran_call(
    host: WatchedHost,
    call: ExecutedCall,
    folder: Option<&str>,
    position: &LogPosition,
) -> Option<RanCall> {
    let state = &position.state;
    let session = call.session.or_else(|| state.session.clone())?;
    let work_dir = state.work_dir.clone().or_else(|| folder.map(str::to_owned));
    // Where hooks are told no id, the call is known by its tool and input, and this execution of it by
    // the log's own id.
    let (call_id, own_id) = match (&call.payload, call.digest) {
        (Some(payload), _) => (digest_of(host, payload)?, Some(call.id?)),
        (None, Some(digest)) => (digest, Some(call.id?)),
        (None, None) => (call.id?, None),
    };
    Some(RanCall {
        host: host.0.id().to_owned(),
        agent: agent_id(host.0.id(), &session),
        session,
        call: call_id,
        own_id,
        tool: call.tool,
        about: call.about.map(without_secrets),
        at: call.at,
        work_dir,
        began: state.began,
        copied_from: call.copied_from,
    })
}

/// Returns what identifies a call for hooks, given what they received before it.
pub(super) fn digest_of(host: WatchedHost, payload: &Value) -> Option<String> {
    let caller = Caller::new("", Timestamp::UNIX_EPOCH);
    let events = host.0.protocol.decode(payload.to_string().as_bytes(), &caller).ok()?;
    call_of(events.first()?)
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
