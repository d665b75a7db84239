//! Asks a person for approval through the daemon.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhook_engine::Places;
use anyhook_engine::approval::Approver;
use anyhook_engine::run::descendants::release_orphans;
use anyhook_engine::run::environment::of_places;
use anyhook_engine::run::interruption::wake_on_signals;
use anyhook_hosts::bus_event;
use anyhook_model::bus::AgentReport;
use anyhook_model::daemon::{Ask, StartedBy};
use anyhook_model::{ApprovalRequest, BusEvent, Record, Resolution};
use anyhook_socket::{Client, ClientError, DaemonFolder};

use crate::daemon_start::start_in_background_with;
use crate::presence;
use crate::watchdog;

/// How long to wait for the daemon to start or to come back.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a question is repeated to a daemon that cannot take it; then the agent's own dialog is
/// used.
const REFUSED_LIMIT: Duration = Duration::from_secs(2);

/// How long a hook process that lost the daemon waits before it asks again.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// A person who is reached through the daemon, which is started if necessary.
#[derive(Debug)]
pub struct DaemonApprover {
    /// Locates the program that starts the daemon.
    pub anyhook: fn() -> Option<PathBuf>,
}

impl Approver for DaemonApprover {
    fn ask(
        &self,
        places: &Places,
        inquiry: &ApprovalRequest,
        record: &Record,
    ) -> Option<Resolution> {
        let folder = DaemonFolder::in_state_dir(places.state.as_deref()?);
        // A daemon that a person stopped is not started for this: the agent's own dialog is used.
        if folder.is_stopped() && !folder.is_held() {
            return None;
        }
        let told = bus_event::from_record(record);
        let ask = Ask { inquiry: inquiry.clone(), report: report(told, inquiry) };
        let wait = inquiry.until?.duration_since(inquiry.created);
        // The daemon reports when the time is up; it may be a moment late.
        let limit = Instant::now() + Duration::try_from(wait).ok()? + Duration::from_millis(500);
        // A host that no longer needs an answer sends a signal: what happened is then journaled.
        let interrupted = wake_on_signals(watchdog::is_ignored)?;
        // The hooks have finished, and a daemon that we start must not become our child.
        release_orphans();
        let mut starts = true;
        let mut refused: Option<Instant> = None;
        loop {
            let left = limit.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let client = if starts {
                Client::connect_or(&folder, left, || {
                    let by = StartedBy::Hook;
                    let variables = of_places(places);
                    start_in_background_with((self.anyhook)().as_deref(), &folder, variables, by)
                })
            } else {
                Client::connect_within(&folder, left.min(TIMEOUT))
            };
            let left = limit.saturating_duration_since(Instant::now());
            match client.and_then(|mut client| client.ask(&ask, left, &interrupted)) {
                Ok(resolution) => return Some(resolution),
                // It may come back, and then it still knows the question.
                Err(error) if error.may_pass() => {
                    if matches!(error, ClientError::Refused(_)) {
                        let since = *refused.get_or_insert_with(Instant::now);
                        if since.elapsed() > REFUSED_LIMIT {
                            return None;
                        }
                    }
                    starts = false;
                    presence::revive(places, self.anyhook, StartedBy::Hook);
                    thread::sleep(ASK_AGAIN.min(left));
                }
                Err(_) => return None,
            }
        }
    }
}

/// Reports about the agent what its journal record will report once it is written.
fn report(told: Option<BusEvent>, inquiry: &ApprovalRequest) -> AgentReport {
    let mut report = told.and_then(|told| told.report().cloned()).unwrap_or_default();
    report.agent.clone_from(&inquiry.agent);
    report.tool.clone_from(&inquiry.tool);
    report.about.clone_from(&inquiry.about);
    report
}
