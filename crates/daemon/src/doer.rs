//! Does in the world what the loop decides, aside, with limits: no deed makes the loop wait.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhook_engine::Engine;
use anyhook_engine::settings::NotifySettings;
use anyhook_flow::What;
use anyhook_flow::notices::NoticeName;
use anyhook_hosts::happening;
use anyhook_model::notice::Notice;
use anyhook_model::{Happening, ProcessName, Record, Resolution};
use tokio::sync::mpsc as inputs;

use crate::core::Input;
use crate::processes::Processes;
use crate::{faults, gates, notice};

/// After a notice could not be given, nothing is done for so long.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Something to be done.
#[derive(Debug)]
pub enum Deed {
    /// Tell the person.
    Notify(NoticeName, Box<Notice>),
    /// Write a decision down.
    Journal(Box<Resolution>),
    /// Write down that a request was refused.
    JournalRefusal(Box<Record>),
    /// Have people asked at the gates of workflows.
    AskAtGates,
    /// Say when this process of an agent has ended.
    WatchProcess(String, ProcessName),
}

/// What deeds are done with.
#[derive(Debug)]
pub struct Tools {
    /// This program.
    pub binary: PathBuf,
    /// How a person is told.
    pub notify: NotifySettings,
    /// Where notices are claimed.
    pub claims: PathBuf,
    /// What writes the journal.
    pub engine: Engine,
    /// Where the loop is told.
    pub inputs: inputs::Sender<Input>,
    /// Who waits for the ends of processes.
    pub processes: Processes,
}

/// Takes deeds and has them done in order. Their number is bounded by what the state holds.
#[derive(Debug)]
pub struct Doer {
    deeds: Sender<Deed>,
}

impl Doer {
    /// Starts the thread that does them.
    pub fn start(tools: Tools) -> std::io::Result<Self> {
        let (deeds, to_do) = channel();
        thread::Builder::new().name("doer".to_owned()).spawn(move || work(&to_do, &tools))?;
        Ok(Self { deeds })
    }

    /// Has something done.
    pub fn ask_for(&self, deed: Deed) {
        // The thread ends with us: what is not done is still in the state.
        let _ = self.deeds.send(deed);
    }
}

fn work(deeds: &Receiver<Deed>, tools: &Tools) {
    while let Ok(deed) = deeds.recv() {
        match deed {
            Deed::Notify(name, told) => {
                faults::point("doer.notify.begun");
                let settings = tools.notify.clone();
                let job = notice::Job {
                    notice: *told,
                    settings,
                    folder: tools.claims.clone(),
                    binary: tools.binary.clone(),
                };
                if let Err(error) = notice::launch(&tools.binary, &job) {
                    tracing::error!("a notice could not be given: {error}");
                    // It is tried again, but not without a rest.
                    thread::sleep(TRY_AGAIN);
                    let _ = tools.inputs.blocking_send(Input::NotNotified(name));
                    continue;
                }
                faults::point("doer.notify.launched");
                // A loop that has ended reads it from its state when it comes back.
                let _ = tools.inputs.blocking_send(Input::Did(What::NoticeLaunched(name)));
            }
            Deed::Journal(resolution) => journal(tools, &resolution),
            Deed::JournalRefusal(record) => {
                if let Err(error) = tools.engine.journal(vec![*record]) {
                    tracing::error!("a refusal could not be journaled: {error}");
                }
            }
            Deed::AskAtGates => {
                if let Err(error) = gates::launch(&tools.binary) {
                    tracing::error!("nobody can be asked at the gates of workflows: {error}");
                }
            }
            Deed::WatchProcess(agent, process) => tools.processes.watch((agent, process)),
        }
    }
}

/// Writes a decision down. That it is there is known by reading it.
fn journal(tools: &Tools, resolution: &Resolution) {
    faults::point("doer.journal.begun");
    let happening = Happening::DecisionResolved(resolution.clone());
    let mut record = happening::record(anyhook_engine::new_id(), resolution.at, &happening);
    record.about = Some(anyhook_flow::inquiries::ended(resolution));
    record.agent_id = Some(resolution.agent.clone());
    if let Err(error) = tools.engine.journal(vec![record]) {
        tracing::error!("a decision could not be journaled: {error}");
    }
    faults::point("doer.journal.written");
    let _ = tools.inputs.blocking_send(Input::Grown);
}
