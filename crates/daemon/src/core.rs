//! The core loop: receives what happened, makes it durable, then acts on it.
//!
//! One thread owns the state. Whatever may take long is done elsewhere: connections by the
//! [server](crate::server), logs by the watcher, and side effects, which are in the state's outbox,
//! by the [runner](crate::runner). Messages wait in a bounded queue, so that a sender of too much
//! has to wait, too, and nothing is lost. The journal is read by the loop itself, in portions, when
//! it has time: its queue is the disk. However much there is to read, others get their turn.

mod followers;
mod journal;
mod pending;
mod pipelines;
mod ran_calls;
mod replies;
mod requests;
mod waiters;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhook_engine::Places;
use anyhook_engine::journal::Journal;
use anyhook_flow::approval_requests::call_runs;
use anyhook_flow::ran_calls::RanCall;
use anyhook_flow::{DaemonState, EntryKind, StateEffects, StateEntry};
use anyhook_model::approval_request::{ApprovalEnding, ApprovalKind};
use anyhook_model::daemon::{PublishedEvent, Request, Response};
use anyhook_model::notice::NoticeKind;
use anyhook_model::{ApprovalRequest, BusEvent, Host, ProcessName, RecordId, Resolution};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::failpoints;
use crate::presence::Presence;
use crate::replies::code::AnswerKey;
use crate::replies::{PhoneReply, ReplyChannels};
use crate::runner::{IsStillIdle, KeysTarget, OutboxFailure, Runner};
use crate::running_call::RunningCommands;
use crate::store::{Store, StoreError};

use self::followers::Followers;
use self::journal::JournalFeed;
use self::pending::PendingEntries;
use self::ran_calls::CallJoin;
use self::replies::RefusalCount;
use self::waiters::Waiters;

pub use self::requests::refusal;

/// How many messages are taken at once.
const MESSAGES_AT_ONCE: usize = 256;
/// How long the journal is read at a stretch. An answer reflects everything that was journaled
/// before the request, unless that is more than can be read in this time. The first client of a new
/// daemon may have to wait for two of these, and its timeout is 10 s.
const STRETCH: Duration = Duration::from_secs(3);
/// How often the journal is checked even without a notification that it has grown.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How many open permissions are matched against running commands at once; the others are noticed
/// when their call ends.
const CALLS_LOOKED_FOR: usize = 256;
/// The tool whose calls are processes.
const SHELL: &str = "Shell";

/// A message to the loop.
#[derive(Debug)]
pub enum CoreMessage {
    /// The journal may have grown.
    JournalChanged,
    /// A client's request, with its process id where the system reports it.
    Request(Request, Option<u32>, oneshot::Sender<Response>),
    /// A button in a notice was pressed. The answer is the choice, or why it was refused.
    Reply(PhoneReply, oneshot::Sender<Result<String, String>>),
    /// A client subscribes to all events from some point on.
    Follow(FollowStart, mpsc::Sender<PublishedEvent>),
    /// The process that waited for this decision is gone.
    Waived(RecordId),
    /// A report from a log, and the position up to which it is read.
    Log(Box<BusEvent>, String, Value),
    /// A log reports calls as executed, and the position after it.
    CallsRan(Vec<RanCall>, String, Value),
    /// An agent's process has ended.
    ProcessEnded(String, ProcessName),
    /// An item of the outbox is done, or has made progress: the entry that says so.
    Done(EntryKind),
    /// An item of the outbox failed.
    NotDone(OutboxFailure),
    /// Asks whether the agent of a pipeline's step is still at a prompt.
    StillAtPrompt(RecordId, u64, oneshot::Sender<IsStillIdle>),
    /// The screen of an agent shows something that no hook reports.
    Screen(Box<BusEvent>),
    /// An agent is about to be sent input, if it is still at that rest; it is typed once that is
    /// stored.
    SendKeys(String, Option<KeysTarget>, oneshot::Sender<Result<(), String>>),
    /// The page refused a device's request: what it was about, and why.
    DeviceRefused(String, String),
    /// Shut down cleanly.
    Stop,
}

/// Where following begins.
#[derive(Clone, Copy, Debug)]
pub enum FollowStart {
    /// With the next event.
    Now,
    /// After the event with this number.
    After(u64),
    /// With the events since then, as far as they are available.
    Since(Timestamp),
}

/// The state and everything that is needed to change it.
#[derive(Debug)]
pub struct Core {
    state: DaemonState,
    store: Store,
    pending: PendingEntries,
    journal: JournalFeed,
    runner: Runner,
    wanted: BTreeSet<NoticeKind>,
    waiters: Waiters,
    followers: Followers,
    since: Timestamp,
    notes: Vec<String>,
    /// Processes that have ended: what they reported before is in the journal, and is read first.
    ended: Vec<(String, ProcessName)>,
    /// What other processes can find out about us without asking.
    pub(crate) presence: Presence,
    /// When we last checked whether commands are running that a person is asked about.
    calls_looked_at: Option<Instant>,
    /// Joins executed calls with the journal.
    calls: CallJoin,
    /// Checks the codes of buttons.
    answer_key: Option<Arc<AnswerKey>>,
    /// Where messages are edited.
    phones: Option<ReplyChannels>,
    refused_replies: RefusalCount,
}

/// What a core begins with.
#[derive(Debug)]
pub struct CoreParams {
    /// The state as it was stored.
    pub state: DaemonState,
    /// The store.
    pub store: Store,
    /// Where things are.
    pub places: Places,
    /// The journal.
    pub journal: Journal,
    /// The kinds of notices that a person wants.
    pub wanted: BTreeSet<NoticeKind>,
    /// Processes the outbox.
    pub runner: Runner,
    /// What should be reported from the start.
    pub notes: Vec<String>,
    /// What other processes can find out about the daemon without asking it.
    pub presence: Presence,
    /// The key of the codes that buttons answer with, if any do.
    pub answer_key: Option<Arc<AnswerKey>>,
    /// The services that carry notices and answers, if any do.
    pub phones: Option<ReplyChannels>,
}

impl Core {
    /// Creates a core that continues from the stored state.
    pub fn new(beginning: CoreParams) -> Self {
        let CoreParams { state, store, places, journal, wanted, runner, notes, presence, .. } =
            beginning;
        let (answer_key, phones) = (beginning.answer_key, beginning.phones);
        let mut waiters = Waiters::default();
        waiters.expect(state.inquiries.open());
        Self {
            state,
            store,
            pending: PendingEntries::default(),
            journal: JournalFeed::new(journal),
            runner,
            wanted,
            waiters,
            followers: Followers::default(),
            since: anyhook_engine::now(),
            notes,
            ended: Vec::new(),
            presence,
            calls_looked_at: None,
            calls: CallJoin::new(places),
            answer_key,
            phones,
            refused_replies: RefusalCount::default(),
        }
    }

    /// Does what had to wait until the journal is read.
    fn act_on_what_is_read(&mut self) {
        if self.journal.is_behind {
            return;
        }
        if std::mem::take(&mut self.journal.is_first) {
            self.resume();
        }
        for (agent, process) in std::mem::take(&mut self.ended) {
            self.process_ended(&agent, process);
        }
    }

    /// Resumes what was unfinished when the last daemon ended.
    fn resume(&mut self) {
        for (agent, _) in self.state.agents.iter() {
            self.runner.watch_process(&self.state, agent);
        }
        self.resume_pipelines();
    }

    /// Runs until it is told to stop.
    pub async fn run(
        &mut self,
        mut messages: mpsc::Receiver<CoreMessage>,
    ) -> Result<(), StoreError> {
        loop {
            let mut taken = Vec::new();
            // If it cannot be stored, messages wait in the queue.
            if self.pending.has_room() {
                match tokio::time::timeout(self.patience(), messages.recv()).await {
                    Ok(None) => break,
                    Ok(message) => taken.extend(message),
                    Err(_) => {}
                }
                while taken.len() < MESSAGES_AT_ONCE
                    && let Ok(message) = messages.try_recv()
                {
                    taken.push(message);
                }
            } else {
                tokio::time::sleep(self.patience()).await;
            }
            // Only after the messages were taken: their answers then reflect what was journaled
            // before they arrived, and a later notification that the journal has grown is not lost.
            self.catch_up();
            let stops = taken.iter().any(|message| matches!(message, CoreMessage::Stop));
            for message in taken {
                self.take(message);
            }
            self.store_what_waits();
            self.look_at_suspects();
            self.drain_outbox();
            self.presence.tell(self.has_work());
            if self.store.wants_snapshot() {
                self.keep_snapshot();
            }
            if let Some(error) = self.pending.in_doubt.take() {
                return Err(error);
            }
            if stops {
                break;
            }
        }
        self.store.snapshot(&self.state)
    }

    /// Returns whether anything depends on the daemon: it is then restarted if it is killed.
    fn has_work(&self) -> bool {
        self.state.agents.iter().any(|(_, agent)| !agent.state.is_over())
            || self.state.pipelines.open().next().is_some()
            || self.state.inquiries.open().next().is_some()
    }

    /// Processes what has happened; what has ended is recorded as such before any request is
    /// answered.
    fn catch_up(&mut self) {
        self.store_what_waits();
        self.read_journal(STRETCH);
        self.act_on_what_is_read();
        self.end_what_is_over();
    }

    /// Returns the longest time to wait for the next message.
    fn patience(&self) -> Duration {
        let has_more =
            self.journal.is_behind || !self.ended.is_empty() || !self.pending.entries.is_empty();
        if has_more && self.pending.failing.is_none() {
            return Duration::ZERO;
        }
        let now = anyhook_engine::now();
        let until =
            |end: Timestamp| Duration::try_from(end.duration_since(now)).unwrap_or(Duration::ZERO);
        let ends = [
            self.state.inquiries.next_end().map(until),
            self.waiters.next_end(),
            self.next_timer().map(until),
            self.pending.next_try(),
            self.next_suspect(),
        ];
        ends.into_iter().flatten().fold(LOOK_EVERY, Duration::min)
    }

    fn take(&mut self, message: CoreMessage) {
        match message {
            CoreMessage::JournalChanged | CoreMessage::Stop => {}
            CoreMessage::Request(request, process, answer) => self.answer(request, process, answer),
            CoreMessage::Reply(reply, answer) => {
                let _ = answer.send(self.reply(&reply));
            }
            CoreMessage::Follow(from, follower) => self.follow(from, follower),
            CoreMessage::DeviceRefused(about, why) => {
                let source = serde_json::json!({"by": "a device"});
                self.journal_refused("ui device", &about, &why, "a device", source);
            }
            CoreMessage::Waived(id) => {
                if self.waiters.leave(&id) {
                    self.dismiss(&id, self.why_waived(&id));
                }
            }
            CoreMessage::Log(event, file, position) => {
                let event = self.known_by_its_id(event);
                self.pending
                    .entries
                    .extend([EntryKind::Happened(event), EntryKind::LogRead(file, position)]);
            }
            CoreMessage::CallsRan(calls, file, position) => self.calls_ran(calls, file, position),
            CoreMessage::ProcessEnded(agent, process) => self.ended.push((agent, process)),
            CoreMessage::Done(what) => self.pending.entries.push_back(what),
            CoreMessage::NotDone(item) => self.runner.not_done(&item),
            CoreMessage::StillAtPrompt(pipeline, rest, answer) => {
                let _ = answer.send(self.still_at_prompt(&pipeline, rest));
            }
            CoreMessage::Screen(event) => {
                self.pending.entries.push_back(EntryKind::Happened(event));
            }
            CoreMessage::SendKeys(agent, rest, answer) => {
                let _ = answer.send(self.begin_send_keys(&agent, rest));
            }
        }
    }

    /// Attributes a log's report to the agent of that session, if its launcher gave it an id.
    fn known_by_its_id(&self, mut event: Box<BusEvent>) -> Box<BusEvent> {
        if let Some(report) = event.report_mut()
            && let (Some(host), Some(session)) = (&report.host, &report.session)
            && let Some(id) = self.state.agents.of_session(host, session)
        {
            report.agent = id.to_owned();
        }
        event
    }

    /// Stores the entries that no client waits for, all at once; those that cannot be stored are
    /// kept.
    fn store_what_waits(&mut self) {
        if self.pending.entries.is_empty() || self.pending.must_wait() {
            return;
        }
        let batch: Vec<EntryKind> = std::mem::take(&mut self.pending.entries).into();
        if let Err(batch) = self.commit(batch) {
            self.pending.entries = batch.into();
        }
    }

    /// Makes entries durable, then acts on them. Returns them if they cannot be stored; then
    /// nothing has changed.
    fn commit(&mut self, batch: Vec<EntryKind>) -> Result<(), Vec<EntryKind>> {
        if batch.is_empty() {
            return Ok(());
        }
        let at = anyhook_engine::now();
        let entries: Vec<StateEntry> =
            batch.into_iter().map(|what| StateEntry { at, what }).collect();
        let before = self.store.last();
        match self.store.append(&entries) {
            Ok(_) => self.pending.failing = None,
            Err(error) => {
                self.pending.fail(error.to_string());
                self.journal.follower = None;
                if matches!(error, StoreError::Poisoned { .. }) {
                    self.pending.in_doubt = Some(error);
                }
                return Err(entries.into_iter().map(|entry| entry.what).collect());
            }
        }
        failpoints::point("core.stored");
        for (sequence, entry) in (before + 1..).zip(&entries) {
            let effects = self.state.apply(entry, &self.wanted);
            let told = self.state.keep_told(sequence, entry, &effects);
            self.followers.tell(&told);
            if let EntryKind::Happened(event) = &entry.what
                && let Some(report) = event.report()
            {
                self.runner.watch_process(&self.state, &report.agent);
            }
            self.runner.stored(&entry.what);
            self.act(&effects);
        }
        failpoints::point("core.acted");
        Ok(())
    }

    /// Notifies the clients that are waiting, and forgets what is over.
    fn act(&mut self, effects: &StateEffects) {
        for resolution in &effects.answers {
            self.waiters.answer(resolution);
            self.tell_phones(resolution);
        }
        for event in &effects.followed {
            self.forget_environment(event);
        }
    }

    /// Processes the outbox. Items that were unfinished when the last daemon ended wait until the
    /// journal is read: they may be done already.
    fn drain_outbox(&mut self) {
        if self.journal.is_first {
            return;
        }
        if !self.journal.is_behind {
            self.fire_timers();
        }
        let drained = self.runner.drain(&self.state, self.journal.is_behind);
        self.pending.entries.extend(drained.obsolete);
        if let Some(why) = drained.failed {
            self.pending.fail(why);
        }
    }

    /// Reports that an agent's process has ended. The journal has been read before: an agent that
    /// ended normally according to it is not reported as crashed.
    fn process_ended(&mut self, id: &str, process: ProcessName) {
        self.runner.process_ended(id, &process);
        let report = anyhook_model::bus::AgentReport {
            agent: id.to_owned(),
            source: anyhook_model::StateSource::Process,
            at: Some(anyhook_engine::now()),
            process: Some(process),
            ..Default::default()
        };
        self.pending.entries.push_back(EntryKind::Happened(Box::new(BusEvent::AgentGone(report))));
    }

    fn end_what_is_over(&mut self) {
        let expired = self.state.inquiries.expired(anyhook_engine::now());
        self.resolve(expired);
        for id in self.waiters.given_up() {
            self.dismiss(&id, "the process that asked did not come back");
        }
        self.notice_running_calls();
    }

    /// Notices commands that are running although a person is still asked about them: they were
    /// allowed on the agent's own screen. Its host does not report that before a command has ended.
    fn notice_running_calls(&mut self) {
        if self.calls_looked_at.is_some_and(|last| last.elapsed() < LOOK_EVERY) {
            return;
        }
        self.calls_looked_at = Some(Instant::now());
        // Each agent is examined once, however much it asks.
        let mut below: BTreeMap<u32, RunningCommands> = BTreeMap::new();
        let mut runs = |inquiry: &ApprovalRequest| {
            let agent = self.process_and_host(&inquiry.agent);
            let (Some((process, host)), Some(command)) = (agent, inquiry.about.as_deref()) else {
                return false;
            };
            let look = || RunningCommands::below(process, host);
            below.entry(process.pid).or_insert_with(look).has(command, inquiry.created)
        };
        let is_shell = |inquiry: &&ApprovalRequest| {
            inquiry.kind == ApprovalKind::Permission && inquiry.tool.as_deref() == Some(SHELL)
        };
        let running: Vec<EntryKind> = self
            .state
            .inquiries
            .open()
            .filter(is_shell)
            .take(CALLS_LOOKED_FOR)
            .filter(|inquiry| runs(inquiry))
            .map(|inquiry| call_runs(inquiry, anyhook_engine::now()))
            .map(|event| EntryKind::Happened(Box::new(event)))
            .collect();
        self.pending.entries.extend(running);
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

    /// Returns why the decision is no longer waited for.
    fn why_waived(&self, id: &RecordId) -> &'static str {
        let kind = self.state.inquiries.get(id).map(|held| held.inquiry.kind);
        match kind {
            // Its state file may have been changed by others, and is authoritative.
            Some(ApprovalKind::Gate) => "it was decided elsewhere, or the workflow is not running",
            _ => "the process that asked is gone",
        }
    }

    fn resolve(&mut self, resolutions: Vec<Resolution>) {
        let happened =
            |resolution| EntryKind::Happened(Box::new(BusEvent::DecisionResolved(resolution)));
        self.pending.entries.extend(resolutions.into_iter().map(happened));
        self.store_what_waits();
    }

    fn keep_snapshot(&mut self) {
        if let Err(error) = self.store.snapshot(&self.state) {
            self.pending.fail(error.to_string());
        }
    }
}

fn without_answer(inquiry: &ApprovalRequest, why: &str) -> Resolution {
    let now = anyhook_engine::now();
    anyhook_flow::approval_requests::without_answer(inquiry, ApprovalEnding::Dismissed, why, now)
}
