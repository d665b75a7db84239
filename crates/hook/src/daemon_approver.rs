//! A person who is asked through the daemon.

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

/// One who has to start the daemon, or waits for it to come back, waits so long.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A daemon that cannot take a question is asked again for so long; then the agent's own dialog
/// stands.
const REFUSED_LIMIT: Duration = Duration::from_secs(2);

/// A hook process that lost the daemon asks again after so long.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// A person who is reached through the daemon, which is found, or started.
#[derive(Debug)]
pub struct DaemonApprover {
    /// Finds the program that starts the daemon.
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
        // A daemon that a person stopped is not started for this: the agent's own dialog stands.
        if folder.is_stopped() && !folder.is_held() {
            return None;
        }
        let told = bus_event::from_record(record);
        let ask = Ask { inquiry: inquiry.clone(), report: report(told, inquiry) };
        let wait = inquiry.until?.duration_since(inquiry.created);
        // The daemon says when the time is over; it may be a moment late.
        let limit = Instant::now() + Duration::try_from(wait).ok()? + Duration::from_millis(500);
        // A host that needs no answer any more says so by a signal: what happened is then journaled.
        let interrupted = wake_on_signals(watchdog::is_ignored)?;
        // The hooks are done, and a daemon that we start is not to come to us.
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
                // It may come back, and then it still knows what was asked.
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

/// Tells of the agent what its record will tell when it is written.
fn report(told: Option<BusEvent>, inquiry: &ApprovalRequest) -> AgentReport {
    let mut report = told.and_then(|told| told.report().cloned()).unwrap_or_default();
    report.agent.clone_from(&inquiry.agent);
    report.tool.clone_from(&inquiry.tool);
    report.about.clone_from(&inquiry.about);
    report
}
