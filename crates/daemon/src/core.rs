//! The loop: takes in what happened, makes it durable, then acts on it.
//!
//! One thread owns the state. Whatever may take long is done elsewhere: connections by the
//! [server](crate::server), logs by the watcher, what is to be done in the world by the
//! [doer](crate::doer). What comes in waits in a bounded queue, so that whoever brings too much
//! waits, too, and nothing is lost. The journal is read by the loop itself, in portions, when it
//! has time: its queue is the disk. However much there is to read, others get their turn.

mod journal;
mod pipelines;
mod requests;
mod waiting;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use anyhook_engine::journal::{Follower, Journal};
use anyhook_flow::inquiries::call_runs;
use anyhook_flow::notices::NoticeName;
use anyhook_flow::{Effect, Entry, State, What};
use anyhook_model::daemon::{Request, Response, Told};
use anyhook_model::inquiry::{Ending, InquiryKind};
use anyhook_model::instructions::Instructions;
use anyhook_model::notice::NoticeKind;
use anyhook_model::{Happening, Host, Inquiry, Notice, ProcessName, RecordId, Resolution};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::doer::{Deed, Doer};
use crate::faults;
use crate::pipelines::{StillRests, TypedInto, Worker};
use crate::presence::Presence;
use crate::running_call::RunningCommands;
use crate::store::{Store, StoreError};

use self::waiting::Waiting;

pub use self::requests::refusal;

/// So many inputs are taken at once.
const INPUTS_AT_ONCE: usize = 256;
/// So long the journal is read at a stretch. An answer tells of everything that was journaled before
/// it was asked for, unless that is more than can be read in this time. The first client of a new
/// daemon may have to wait for two of them, and waits for 10 s.
const STRETCH: Duration = Duration::from_secs(3);
/// The journal is looked at so often even if nobody says that it has grown.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// What could not be stored may be so much; then nothing more is taken until it is.
const UNSTORED: usize = 4096;
/// So many notices may be on their way at once.
const NOTIFYING: usize = 32;
/// What an agent did longer ago is no news.
const NEWS: SignedDuration = SignedDuration::from_mins(2);
/// So many open permissions are held against running commands at once; the end of a call tells of
/// the others.
const CALLS_LOOKED_FOR: usize = 256;
/// The tool whose calls are processes.
const SHELL: &str = "Shell";
/// After a failure to store something it is tried again after so long.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// What comes to the loop.
#[derive(Debug)]
pub enum Input {
    /// The journal may have grown.
    Grown,
    /// A client wants something, from a process where the system tells which.
    Request(Request, Option<u32>, oneshot::Sender<Response>),
    /// A client wants to know everything from some point on.
    Follow(Start, mpsc::Sender<Told>),
    /// Whoever waited for this decision is gone.
    Waived(RecordId),
    /// A log tells something, and is read up to here.
    Log(Box<Happening>, String, Value),
    /// An agent's process has ended.
    ProcessEnded(String, ProcessName),
    /// A deed is done; what is to be remembered of it.
    Did(What),
    /// A notice could not be handed to its process.
    NotNotified(NoticeName),
    /// Whether the agent of a pipeline's step still is at a prompt.
    StillAtPrompt(RecordId, u64, oneshot::Sender<StillRests>),
    /// The screen of an agent shows something that no hook tells of.
    Screen(Box<Happening>),
    /// An agent is about to be told something, if it still is at that rest; it is typed when that is
    /// stored.
    Types(String, Option<TypedInto>, oneshot::Sender<Result<(), String>>),
    /// End in order.
    Stop,
}

/// Where following begins.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// With what happens next.
    Now,
    /// With what comes after this number.
    After(u64),
    /// With what was heard since then, as far as it is remembered.
    Since(Timestamp),
}

/// The state and everything that is needed to change it.
#[derive(Debug)]
pub struct Core {
    state: State,
    store: Store,
    journal: Journal,
    follower: Option<Follower>,
    wanted: BTreeSet<NoticeKind>,
    waiting: Waiting,
    followers: Vec<mpsc::Sender<Told>>,
    doer: Doer,
    /// Agents' processes that somebody watches.
    watched: BTreeSet<(String, u32, u64)>,
    since: Timestamp,
    notes: Vec<String>,
    /// What cannot be stored, and when it is tried again.
    failing: Option<(String, Instant)>,
    /// Whether the journal has more than was read at a stretch.
    is_behind: bool,
    /// Whether what was to be done when the daemon ended waits until the journal is read.
    resumes: bool,
    /// Notices on their way to their process.
    notifying: BTreeSet<NoticeName>,
    /// What could not be stored and is tried again, in order.
    unstored: VecDeque<What>,
    /// Why there is no going on: the store must be opened again.
    in_doubt: Option<StoreError>,
    /// Processes that have ended: what they said before is in the journal, and comes first.
    ended: Vec<(String, ProcessName)>,
    /// Who does the jobs of pipelines.
    worker: Worker,
    /// Jobs somebody works on.
    at_work: BTreeSet<(RecordId, u32)>,
    /// What the hook processes of agents were told to do.
    instructed: BTreeMap<String, Instructions>,
    /// What others can know of us without asking.
    pub(crate) presence: Presence,
    /// When it was last looked whether commands run that a person is asked about.
    calls_looked_at: Option<Instant>,
}

/// What a core begins with.
#[derive(Debug)]
pub struct Beginning {
    /// The state as it was stored.
    pub state: State,
    /// The store.
    pub store: Store,
    /// The journal.
    pub journal: Journal,
    /// What a person is told of.
    pub wanted: BTreeSet<NoticeKind>,
    /// Who does what is to be done.
    pub doer: Doer,
    /// Who does the jobs of pipelines.
    pub worker: Worker,
    /// What is worth knowing from the start.
    pub notes: Vec<String>,
    /// What others can know of the daemon without asking it.
    pub presence: Presence,
}

impl Core {
    /// Begins where it was.
    pub fn new(beginning: Beginning) -> Self {
        let Beginning { state, store, journal, wanted, doer, worker, notes, presence } = beginning;
        let mut core = Self {
            waiting: Waiting::default(),
            followers: Vec::new(),
            watched: BTreeSet::new(),
            since: anyhook_engine::now(),
            follower: None,
            failing: None,
            is_behind: false,
            resumes: true,
            notifying: BTreeSet::new(),
            unstored: VecDeque::new(),
            in_doubt: None,
            ended: Vec::new(),
            worker,
            at_work: BTreeSet::new(),
            instructed: BTreeMap::new(),
            calls_looked_at: None,
            state,
            store,
            journal,
            wanted,
            doer,
            notes,
            presence,
        };
        core.waiting.expect(core.state.inquiries.open());
        core
    }

    /// Does what has waited until the journal is read.
    fn act_on_what_is_read(&mut self) {
        if self.is_behind {
            return;
        }
        if std::mem::take(&mut self.resumes) {
            self.resume();
        }
        for (agent, process) in std::mem::take(&mut self.ended) {
            self.process_ended(&agent, process);
        }
    }

    /// Takes up what was to be done when the daemon ended.
    fn resume(&mut self) {
        // Those that are in the journal have been found there by now.
        for resolution in self.state.to_journal.clone().into_values() {
            self.doer.ask_for(Deed::Journal(Box::new(resolution)));
        }
        let agents: Vec<String> = self.state.agents.iter().map(|(id, _)| id.clone()).collect();
        for agent in agents {
            self.watch_process(&agent);
        }
        self.resume_pipelines();
    }

    /// Runs until somebody says stop.
    pub async fn run(&mut self, mut inputs: mpsc::Receiver<Input>) -> Result<(), StoreError> {
        loop {
            let mut taken = Vec::new();
            // What cannot be stored waits where it comes from.
            if self.unstored.len() < UNSTORED {
                match tokio::time::timeout(self.patience(), inputs.recv()).await {
                    Ok(None) => break,
                    Ok(input) => taken.extend(input),
                    Err(_) => {}
                }
                while taken.len() < INPUTS_AT_ONCE
                    && let Ok(input) = inputs.try_recv()
                {
                    taken.push(input);
                }
            } else {
                tokio::time::sleep(self.patience()).await;
            }
            // After they were taken: what was journaled before they came is known to their answers,
            // and whoever says later that it has grown is heard.
            self.catch_up();
            let stops = taken.iter().any(|input| matches!(input, Input::Stop));
            for input in taken {
                self.take(input);
            }
            self.store_what_waits();
            self.look_after_pipelines();
            self.notify();
            self.presence.tell(self.has_work());
            if self.store.wants_snapshot() {
                self.keep_snapshot();
            }
            if let Some(error) = self.in_doubt.take() {
                return Err(error);
            }
            if stops {
                break;
            }
        }
        self.store.snapshot(&self.state)
    }

    /// Tells whether somebody counts on the daemon: it is brought back if it is killed.
    fn has_work(&self) -> bool {
        self.state.agents.iter().any(|(_, agent)| !agent.state.is_over())
            || self.state.pipelines.open().next().is_some()
            || self.state.inquiries.open().next().is_some()
    }

    /// Takes in what has happened; what is over is over before anybody asks about it.
    fn catch_up(&mut self) {
        self.store_what_waits();
        self.read_journal(STRETCH);
        self.act_on_what_is_read();
        self.end_what_is_over();
    }

    /// Returns how long to wait for the next input at most.
    fn patience(&self) -> Duration {
        let has_more = self.is_behind || !self.ended.is_empty() || !self.unstored.is_empty();
        if has_more && self.failing.is_none() {
            return Duration::ZERO;
        }
        let now = anyhook_engine::now();
        let until =
            |end: Timestamp| Duration::try_from(end.duration_since(now)).unwrap_or(Duration::ZERO);
        let ends = [
            self.state.inquiries.next_end().map(until),
            self.waiting.next_end(),
            self.next_timer().map(until),
            self.failing.as_ref().map(|(_, again)| again.saturating_duration_since(Instant::now())),
        ];
        ends.into_iter().flatten().fold(LOOK_EVERY, Duration::min)
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Grown | Input::Stop => {}
            Input::Request(request, process, answer) => self.answer(request, process, answer),
            Input::Follow(from, follower) => self.follow(from, follower),
            Input::Waived(id) => {
                if self.waiting.leave(&id) {
                    self.dismiss(&id, self.why_waived(&id));
                }
            }
            Input::Log(happening, file, position) => {
                let happening = self.known_by_its_id(happening);
                self.unstored.extend([What::Happened(happening), What::LogRead(file, position)]);
            }
            Input::ProcessEnded(agent, process) => self.ended.push((agent, process)),
            Input::Did(what) => self.unstored.push_back(what),
            Input::NotNotified(name) => {
                self.notifying.remove(&name);
            }
            Input::StillAtPrompt(pipeline, rest, answer) => {
                let _ = answer.send(self.still_at_prompt(&pipeline, rest));
            }
            Input::Screen(happening) => self.unstored.push_back(What::Happened(happening)),
            Input::Types(agent, rest, answer) => {
                let _ = answer.send(self.types(&agent, rest));
            }
        }
    }

    /// Gives what a log tells to the agent of that session, if somebody gave it an id of its own.
    fn known_by_its_id(&self, mut happening: Box<Happening>) -> Box<Happening> {
        if let Some(report) = happening.report_mut()
            && let (Some(host), Some(session)) = (&report.host, &report.session)
            && let Some(id) = self.state.agents.of_session(host, session)
        {
            report.agent = id.to_owned();
        }
        happening
    }

    /// Stores what nobody waits for, all at once; what cannot be stored is kept.
    fn store_what_waits(&mut self) {
        if self.unstored.is_empty() || self.must_wait() {
            return;
        }
        let batch: Vec<What> = std::mem::take(&mut self.unstored).into();
        if let Err(batch) = self.commit(batch) {
            self.unstored = batch.into();
        }
    }

    /// Tells whether the last failure was only just now.
    fn must_wait(&self) -> bool {
        self.failing.as_ref().is_some_and(|(_, again)| *again > Instant::now())
    }

    /// Makes entries durable, then acts on them. Gives them back if they cannot be stored; then
    /// nothing has changed.
    fn commit(&mut self, batch: Vec<What>) -> Result<(), Vec<What>> {
        if batch.is_empty() {
            return Ok(());
        }
        let at = anyhook_engine::now();
        let entries: Vec<Entry> = batch.into_iter().map(|what| Entry { at, what }).collect();
        let before = self.store.last();
        match self.store.append(&entries) {
            Ok(_) => self.failing = None,
            Err(error) => {
                self.fail(error.to_string());
                self.follower = None;
                if matches!(error, StoreError::Poisoned { .. }) {
                    self.in_doubt = Some(error);
                }
                return Err(entries.into_iter().map(|entry| entry.what).collect());
            }
        }
        faults::point("core.stored");
        for (sequence, entry) in (before + 1..).zip(&entries) {
            let effects = self.state.apply(entry, &self.wanted);
            let told = self.state.keep_told(sequence, entry, &effects);
            self.tell(&told);
            if let What::Happened(happening) = &entry.what
                && let Some(report) = happening.report()
            {
                self.watch_process(&report.agent);
            }
            match &entry.what {
                What::NoticeLaunched(name) => {
                    self.notifying.remove(name);
                }
                What::Job { pipeline, job, result } if !result.goes_on() => {
                    self.at_work.remove(&(pipeline.clone(), *job));
                }
                _ => {}
            }
            for effect in effects {
                self.act(effect);
            }
        }
        faults::point("core.acted");
        Ok(())
    }

    /// Has done what is to be done.
    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Journal(resolution) => self.doer.ask_for(Deed::Journal(Box::new(resolution))),
            Effect::Answer(resolution) => self.waiting.answer(&resolution),
            Effect::Followed(happening) => self.forget_environment(&happening),
            Effect::Dropped(_) => {}
        }
    }

    /// Has the person told of what still is so. While the journal is read, much of it is long over.
    fn notify(&mut self) {
        if self.is_behind {
            return;
        }
        let now = anyhook_engine::now();
        let mut over = Vec::new();
        for name in &self.state.notices {
            if self.notifying.len() >= NOTIFYING {
                break;
            }
            if self.notifying.contains(name) {
                continue;
            }
            let notice = crate::notice::of_name(name, &self.state);
            // Of what an agent did while nobody looked, what it does now is enough. That a guard was
            // bypassed stays worth knowing.
            let stays_news =
                |notice: &Notice| notice.decision.is_some() || notice.kind == NoticeKind::Alarm;
            let is_news =
                |notice: &Notice| stays_news(notice) || now.duration_since(notice.at) < NEWS;
            match notice.filter(is_news) {
                Some(notice) => {
                    self.notifying.insert(name.clone());
                    self.doer.ask_for(Deed::Notify(name.clone(), Box::new(notice)));
                }
                None => over.push(What::NoticeLaunched(name.clone())),
            }
        }
        self.unstored.extend(over);
    }

    /// Has an agent's process watched, if it is known and not yet watched.
    fn watch_process(&mut self, id: &str) {
        let Some(agent) = self.state.agents.get(id).filter(|agent| !agent.state.is_over()) else {
            return;
        };
        let Some(process) = &agent.process else { return };
        if self.watched.insert((id.to_owned(), process.pid, process.started)) {
            self.doer.ask_for(Deed::WatchProcess(id.to_owned(), process.clone()));
        }
    }

    /// An orderly end, of which the journal tells, is no disorderly one.
    fn process_ended(&mut self, id: &str, process: ProcessName) {
        self.watched.remove(&(id.to_owned(), process.pid, process.started));
        let report = anyhook_model::bus::AgentReport {
            agent: id.to_owned(),
            source: anyhook_model::Source::Process,
            at: Some(anyhook_engine::now()),
            process: Some(process),
            ..Default::default()
        };
        self.unstored.push_back(What::Happened(Box::new(Happening::AgentGone(report))));
    }

    fn end_what_is_over(&mut self) {
        let expired = self.state.inquiries.expired(anyhook_engine::now());
        self.resolve(expired);
        for id in self.waiting.given_up() {
            self.dismiss(&id, "whoever asked did not come back");
        }
        self.notice_running_calls();
    }

    /// Notices commands that run although a person is still asked about them: they were allowed on
    /// the agent's own screen. Its host tells nothing of that before a command has ended.
    fn notice_running_calls(&mut self) {
        if self.calls_looked_at.is_some_and(|last| last.elapsed() < LOOK_EVERY) {
            return;
        }
        self.calls_looked_at = Some(Instant::now());
        // One look at each agent, however much it asks.
        let mut below: BTreeMap<u32, RunningCommands> = BTreeMap::new();
        let mut runs = |inquiry: &Inquiry| {
            let agent = self.process_and_host(&inquiry.agent);
            let (Some((process, host)), Some(command)) = (agent, inquiry.about.as_deref()) else {
                return false;
            };
            let look = || RunningCommands::below(process, host);
            below.entry(process.pid).or_insert_with(look).has(command, inquiry.created)
        };
        let is_shell = |inquiry: &&Inquiry| {
            inquiry.kind == InquiryKind::Permission && inquiry.tool.as_deref() == Some(SHELL)
        };
        let running: Vec<What> = self
            .state
            .inquiries
            .open()
            .filter(is_shell)
            .take(CALLS_LOOKED_FOR)
            .filter(|inquiry| runs(inquiry))
            .map(|inquiry| call_runs(inquiry, anyhook_engine::now()))
            .map(|happening| What::Happened(Box::new(happening)))
            .collect();
        self.unstored.extend(running);
        self.store_what_waits();
    }

    fn process_and_host(&self, agent: &str) -> Option<(&ProcessName, &'static dyn Host)> {
        let agent = self.state.agents.get(agent)?;
        let host = anyhook_hosts::find_host(agent.host.as_deref()?)?;
        Some((agent.process.as_ref()?, host))
    }

    fn dismiss(&mut self, id: &RecordId, why: &str) {
        let open = self.state.inquiries.get(id).filter(|held| held.resolution.is_none());
        let ended = open.map(|held| without_answer(&held.inquiry, why));
        self.resolve(ended.into_iter().collect());
    }

    /// Returns why nobody waits for a decision any more.
    fn why_waived(&self, id: &RecordId) -> &'static str {
        let kind = self.state.inquiries.get(id).map(|held| held.inquiry.kind);
        match kind {
            // Its state file may have been changed by others, and is the truth.
            Some(InquiryKind::Gate) => "it was decided elsewhere, or nobody runs the workflow",
            _ => "whoever asked is gone",
        }
    }

    fn resolve(&mut self, resolutions: Vec<Resolution>) {
        let happened =
            |resolution| What::Happened(Box::new(Happening::DecisionResolved(resolution)));
        self.unstored.extend(resolutions.into_iter().map(happened));
        self.store_what_waits();
    }

    /// Tells those who follow. One that does not keep up is let go: it can read on by its number.
    fn tell(&mut self, told: &[Told]) {
        let send = |follower: &mpsc::Sender<Told>| {
            told.iter().all(|told| follower.try_send(told.clone()).is_ok())
        };
        self.followers.retain(send);
    }

    fn keep_snapshot(&mut self) {
        if let Err(error) = self.store.snapshot(&self.state) {
            self.fail(error.to_string());
        }
    }

    /// Notes that something cannot be stored or read; it is tried again.
    fn fail(&mut self, why: String) {
        if self.failing.as_ref().is_none_or(|(known, _)| *known != why) {
            tracing::error!("{why}");
        }
        self.failing = Some((why, Instant::now() + TRY_AGAIN));
    }
}

fn without_answer(inquiry: &Inquiry, why: &str) -> Resolution {
    let now = anyhook_engine::now();
    anyhook_flow::inquiries::without_answer(inquiry, Ending::Dismissed, why, now)
}
