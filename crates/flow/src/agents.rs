//! The registry of all known agents and their states.
//!
//! Several sources report on one agent, late, twice or out of order. Their reports are weighed
//! here, in one place: native hook events are authoritative in the order they arrive;
//! notifications, logs and the process are second-hand. A *rest* is the time an agent waits for a
//! person, from the last thing it did to the next. Everything done about a rest is keyed by it, so
//! two sources that report the same rest count as one.
//!
//! Hook processes run in parallel and write their records when they end, which may be long after
//! the event: [`Progress`] determines which of them are overtaken. What we type ourselves is not a
//! sign of life: until the agent reacts, another source that reports it as idle may mean the
//! previous rest.

use std::collections::BTreeMap;

use anyhook_model::approval_request::AgentQuestion;
use anyhook_model::bus::AgentReport;
use anyhook_model::{AgentState, BusEvent, ProcessName, PromptType, StateSource};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::names;

/// An agent that has ended is forgotten after this time.
const FORGET_AFTER: SignedDuration = SignedDuration::from_hours(24);

/// Maximum number of remembered agents; those that have ended are dropped first, then those silent
/// for longest.
const REMEMBERED: usize = 10_000;

/// What is known about an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Its current state.
    pub state: AgentState,
    /// The source of that state.
    pub source: StateSource,
    /// Since when it is in that state.
    pub since: Timestamp,
    /// When it was last seen.
    pub seen: Timestamp,
    /// Counts its activities: a rest is identified by the number of the activity before it.
    pub activity: u64,
    /// Whether its host's own events are received, so that no guesses are needed.
    #[serde(default)]
    pub hooked: bool,
    /// Whether it has only just started, so that being idle is not a rest.
    #[serde(default)]
    pub fresh: bool,
    /// Its host.
    pub host: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// Its working directory.
    pub work_dir: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// The tool it is running or asking about.
    pub tool: Option<String>,
    /// What it is about.
    pub about: Option<String>,
    /// The digest of the call.
    #[serde(default)]
    pub call: Option<String>,
    /// The subagent that runs the tool or asks, if it is not the agent itself.
    #[serde(default)]
    pub subagent: Option<String>,
    /// What it asks the person on its screen, if that can be answered with keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<AgentQuestion>,
    /// Whether its host has requested a permission through the prompt it is at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// Its process.
    pub process: Option<ProcessName>,
    /// The log file its host writes.
    pub log: Option<String>,
    /// Its display name; `None` if it was started with an id that someone chose.
    #[serde(default)]
    pub name: Option<String>,
    /// How many calls it has executed that no hook was asked about.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unguarded: u64,
    /// Its process, if that was stopped because of such a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<ProcessName>,
    /// How far its own events have advanced.
    #[serde(default, skip_serializing_if = "Progress::is_none")]
    pub progress: Progress,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How far an agent's own events have advanced: one that happened earlier but is reported later is
/// overtaken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// When its turn last began or ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<Timestamp>,
    /// When it or one of its subagents last began something, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<(Option<String>, Timestamp)>,
    /// Calls that ended, or were seen to run after a prompt, and when; the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ended: Vec<(String, Timestamp)>,
    /// When we typed something that it has not reacted to yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    typed: Option<Timestamp>,
    /// Whether its own events reported that its turn is over, with nothing heard from it since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rests: bool,
}

/// Maximum number of ended calls that are remembered.
const ENDED: usize = 32;
/// Maximum number of subagents that are told apart.
const STEPS: usize = 16;

impl Progress {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether a prompt reported by a host event has been answered since: its call has
    /// ended, or the agent that asked has continued.
    fn is_past_prompt(&self, report: &AgentReport, at: Timestamp) -> bool {
        let has_ended =
            |(call, when): &(String, Timestamp)| report.call.as_ref() == Some(call) && *when >= at;
        self.is_past_step(report, at) || self.ended.iter().any(has_ended)
    }

    /// Returns whether the same agent or subagent began something, or its turn began or ended,
    /// after that time.
    fn is_past_step(&self, report: &AgentReport, at: Timestamp) -> bool {
        let went_on =
            |(who, when): &(Option<String>, Timestamp)| *who == report.subagent && *when > at;
        self.is_past_turn(at) || self.steps.iter().any(went_on)
    }

    /// Returns whether anything was reported about the agent that happened after that time. A
    /// report that names no call may be about any call that has ended since.
    fn is_past_anything(&self, report: &AgentReport, at: Timestamp) -> bool {
        self.is_past_step(report, at) || self.ended.iter().any(|(_, when)| *when > at)
    }

    fn is_past_turn(&self, at: Timestamp) -> bool {
        self.turn.is_some_and(|turn| turn > at)
    }

    /// Returns whether we typed something after that time that it has not reacted to.
    fn is_past_typing(&self, at: Timestamp) -> bool {
        self.typed.is_some_and(|typed| typed > at)
    }

    /// Records an event that counts.
    fn hear(&mut self, report: &AgentReport, says: StateClaim, at: Timestamp) {
        let is_own =
            matches!(report.source, StateSource::Hook | StateSource::Log | StateSource::Screen);
        let is_typed = report.source == StateSource::Signal && says == StateClaim::Begins;
        match says {
            StateClaim::Begins | StateClaim::Works if is_own => {
                (self.typed, self.rests) = (None, false);
            }
            StateClaim::Begins if is_typed => self.typed = Some(at),
            _ => {}
        }
        let is_running_call = report.source == StateSource::Process && says == StateClaim::Works;
        if report.source != StateSource::Hook && !is_running_call {
            return;
        }
        let later = |known: Option<Timestamp>| known.map_or(at, |known| known.max(at));
        match says {
            StateClaim::Begins => self.turn = Some(later(self.turn)),
            StateClaim::Is(state) if !matches!(state, AgentState::Prompting(_)) => {
                // An overtaken event is about a rest that is over.
                if !self.is_past_step(report, at) {
                    self.rests = state == AgentState::Idle;
                }
                self.turn = Some(later(self.turn));
                // What it reports about the time before we typed is not a reaction.
                self.typed.take_if(|typed| *typed <= at);
            }
            // A call that runs has been answered as well.
            StateClaim::Works if report.call_ended || is_running_call => {
                if let Some(call) = &report.call {
                    let known = self.ended.iter().find(|(known, _)| known == call);
                    let at = later(known.map(|(_, when)| *when));
                    self.ended.retain(|(known, _)| known != call);
                    keep_last(&mut self.ended, (call.clone(), at), ENDED);
                }
            }
            StateClaim::Works => {
                let known = self.steps.iter().find(|(who, _)| *who == report.subagent);
                let at = later(known.map(|(_, when)| *when));
                self.steps.retain(|(who, _)| *who != report.subagent);
                keep_last(&mut self.steps, (report.subagent.clone(), at), STEPS);
            }
            StateClaim::Is(_) | StateClaim::Lives => {}
        }
    }
}

fn keep_last<T>(list: &mut Vec<T>, one: T, most: usize) {
    list.push(one);
    let too_many = list.len().saturating_sub(most);
    list.drain(..too_many);
}

impl Agent {
    /// Returns when we last typed something that it has not reacted to yet.
    pub fn typed_unanswered(&self) -> Option<Timestamp> {
        self.progress.typed
    }

    /// Returns the rest it is in, if it waits for a person after having done something.
    pub fn rest(&self) -> Option<u64> {
        (self.state.needs_person() && !self.fresh).then_some(self.activity)
    }
}

/// The effect of an event on an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Its state changed.
    Changed,
    /// Its state stays the same.
    Same,
    /// The event does not count.
    Dropped(DropReason),
}

/// Why an event does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// A better source has reported something newer.
    Late,
    /// The agent is at a prompt or its turn failed; both take precedence over idle.
    Outranked,
    /// The agent has ended; only its host can bring it back.
    Over,
    /// It is about another process than the agent's.
    OtherProcess,
    /// It is about a different session than the agent's, and nothing else is known about that
    /// session.
    OtherSession,
    /// It is only likely, and the host itself will report it: a stop gate may be running.
    Unsure,
    /// It reports the rest that the agent's own events have already reported.
    SameRest,
}

impl DropReason {
    /// Returns it as text.
    pub fn words(self) -> &'static str {
        match self {
            Self::Late => "a more reliable source has newer information",
            Self::Outranked => {
                "the agent is at a prompt or its turn failed, which takes precedence"
            }
            Self::Over => "the agent has ended",
            Self::OtherProcess => "it concerns a process other than the agent's",
            Self::OtherSession => "it concerns a session other than the agent's",
            Self::Unsure => "it is only inferred, and the agent's hooks will report it",
            Self::SameRest => "this idle period is already known",
        }
    }
}

/// Every agent, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agents {
    by_id: BTreeMap<String, Agent>,
}

impl Agents {
    /// Returns an agent.
    pub fn get(&self, id: &str) -> Option<&Agent> {
        self.by_id.get(id)
    }

    /// Returns the id of the agent that has a host's session; the latest, if several had it.
    pub fn of_session(&self, host: &str, session: &str) -> Option<&str> {
        let is_it = |(_, agent): &(&String, &Agent)| {
            agent.host.as_deref() == Some(host) && agent.session.as_deref() == Some(session)
        };
        let latest = self.by_id.iter().filter(is_it).max_by_key(|(_, agent)| agent.seen);
        latest.map(|(id, _)| id.as_str())
    }

    /// Returns every agent, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Agent)> {
        self.by_id.iter()
    }

    /// Counts a call that no hook was asked about.
    pub(crate) fn count_unguarded(&mut self, id: &str) {
        if let Some(agent) = self.by_id.get_mut(id) {
            agent.unguarded += 1;
        }
    }

    /// Their hooks are not expected to be called any more; those that are called all the same are
    /// known by their next event.
    pub(crate) fn unhook(&mut self) {
        for agent in self.by_id.values_mut() {
            agent.hooked = false;
        }
    }

    /// Records which process of an agent was stopped, or that it continues.
    pub(crate) fn set_frozen(&mut self, id: &str, process: Option<ProcessName>) {
        if let Some(agent) = self.by_id.get_mut(id) {
            agent.frozen = process;
        }
    }

    /// Returns the number of agents.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns whether there are no agents.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Returns the event with a different id if it comes from an agent inside an agent, which
    /// inherits the outer agent's id; the inner one is identified by its host and session.
    pub fn of_inner_agent(&self, event: &BusEvent) -> Option<BusEvent> {
        let report = event.report()?;
        let (host, session) = (report.host.as_deref()?, report.session.as_deref()?);
        let outer = self.by_id.get(&report.agent).filter(|outer| !outer.state.is_over())?;
        let (known_host, known_session) = (outer.host.as_deref()?, outer.session.as_deref()?);
        if (known_host, known_session) == (host, session) {
            return None;
        }
        // A process that begins another session is not an inner agent.
        if report.fresh && (outer.process.is_none() || report.process == outer.process) {
            return None;
        }
        let mut inner = event.clone();
        let id = anyhook_model::agent::agent_id(host, session);
        if let Some(report) = inner.report_mut() {
            report.agent = id;
        }
        Some(inner)
    }

    /// Applies an event to the agent it is about; `now` is when it was received.
    ///
    /// An event that is not about an agent changes nothing and returns `None`.
    pub fn hear(&mut self, event: &BusEvent, now: Timestamp) -> Option<Applied> {
        let report = event.report()?;
        let says = says(event)?;
        let at = report.at.unwrap_or(now);
        let Some(agent) = self.by_id.get_mut(&report.agent) else {
            self.make_room(now);
            let mut agent = begin(report, says, at);
            agent.progress.hear(report, says, at);
            self.by_id.insert(report.agent.clone(), agent);
            return Some(Applied::Changed);
        };
        let heard = agent.hear(report, says, at);
        if !matches!(heard, Applied::Dropped(_)) {
            agent.learn(report);
        }
        // A host event that changes nothing has still happened.
        if report.source == StateSource::Hook || !matches!(heard, Applied::Dropped(_)) {
            agent.progress.hear(report, says, at);
        }
        agent.seen = agent.seen.max(at);
        Some(heard)
    }

    /// Returns the event with the agent's id in place of its name: someone who reports about an
    /// agent by hand knows it by its name.
    pub fn of_name(&self, event: &BusEvent) -> Option<BusEvent> {
        let report = event.report()?;
        let is_by_hand = report.host.is_none() && report.session.is_none();
        if !is_by_hand || self.by_id.contains_key(&report.agent) {
            return None;
        }
        let is_called =
            |agent: &Agent| agent.name.as_ref() == Some(&report.agent) && !agent.state.is_over();
        let mut called = self.by_id.iter().filter(|(_, agent)| is_called(agent));
        let (Some((id, _)), None) = (called.next(), called.next()) else { return None };
        let mut meant = event.clone();
        if let Some(report) = meant.report_mut() {
            report.agent.clone_from(id);
        }
        Some(meant)
    }

    /// Names an agent after its host and folder, if no one gave it an id or a name.
    pub fn name_by_default(&mut self, id: &str) {
        let Some(agent) = self.by_id.get(id).filter(|agent| agent.name.is_none()) else { return };
        let (Some(host), Some(session)) = (&agent.host, &agent.session) else { return };
        let Some(folder) = agent.project.as_ref().or(agent.work_dir.as_ref()) else { return };
        if id != anyhook_model::agent::agent_id(host, session) {
            return;
        }
        let name = names::of_agent(host, folder);
        let living = self.by_id.values().filter(|agent| !agent.state.is_over());
        let name = names::unique(name, living.filter_map(|agent| agent.name.as_deref()));
        self.rename(id, &name);
    }

    /// Renames an agent.
    pub fn rename(&mut self, id: &str, name: &str) {
        if let Some(agent) = self.by_id.get_mut(id) {
            agent.name = Some(name.to_owned());
        }
    }

    /// Forgets agents that ended long ago, and those silent for longest if there are too many.
    fn make_room(&mut self, now: Timestamp) {
        self.by_id.retain(|_, agent| {
            !agent.state.is_over() || now.duration_since(agent.seen) < FORGET_AFTER
        });
        while self.by_id.len() >= REMEMBERED {
            let most_silent = self
                .by_id
                .iter()
                .min_by_key(|(_, agent)| (!agent.state.is_over(), agent.seen))
                .map(|(id, _)| id.clone());
            let Some(id) = most_silent else { return };
            self.by_id.remove(&id);
        }
    }
}

/// What an event says about an agent's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StateClaim {
    /// A person gave it something to do.
    Begins,
    /// It did something, and is working.
    Works,
    /// It is in that state.
    Is(AgentState),
    /// It is alive.
    Lives,
}

fn says(event: &BusEvent) -> Option<StateClaim> {
    Some(match event {
        BusEvent::AgentInput(_) => StateClaim::Begins,
        BusEvent::AgentWorking(_) | BusEvent::AgentStop(_) => StateClaim::Works,
        BusEvent::AgentIdle(_) => StateClaim::Is(AgentState::Idle),
        BusEvent::AgentPrompt(prompt) if prompt.prompt_type == PromptType::Idle => {
            StateClaim::Is(AgentState::Idle)
        }
        BusEvent::AgentPrompt(prompt) => StateClaim::Is(AgentState::Prompting(prompt.prompt_type)),
        BusEvent::AgentFailed(failed) => StateClaim::Is(AgentState::Failed(failed.kind)),
        BusEvent::AgentExited(_) => StateClaim::Is(AgentState::Exited),
        BusEvent::AgentGone(_) => StateClaim::Is(AgentState::Gone),
        // What it says about its work is not a state.
        BusEvent::AgentSignal(_) => StateClaim::Lives,
        _ => return None,
    })
}

fn begin(report: &AgentReport, says: StateClaim, at: Timestamp) -> Agent {
    let state = match says {
        StateClaim::Begins | StateClaim::Works | StateClaim::Lives => AgentState::Working,
        StateClaim::Is(state) => state,
    };
    let mut agent = Agent {
        state,
        source: report.source,
        since: at,
        seen: at,
        activity: u64::from(!report.fresh),
        fresh: report.fresh,
        hooked: report.source == StateSource::Hook,
        host: None,
        session: None,
        work_dir: None,
        project: None,
        tool: None,
        about: None,
        call: None,
        subagent: None,
        questions: Vec::new(),
        asked: report.asks,
        process: None,
        log: None,
        unguarded: 0,
        frozen: None,
        progress: Progress::default(),
        name: None,
    };
    agent.learn(report);
    agent
}

impl Agent {
    fn hear(&mut self, report: &AgentReport, says: StateClaim, at: Timestamp) -> Applied {
        let is_first_hand = report.source <= StateSource::Hook;
        if says == StateClaim::Lives {
            return Applied::Same;
        }
        if report.source == StateSource::Process {
            return self.hear_of_process(report, says, at);
        }
        if self.state.is_over() && !is_first_hand {
            return Applied::Dropped(DropReason::Over);
        }
        // Hook processes run in parallel: the one of the last stop may report after the end. An
        // agent that starts again does so whatever the clock says.
        let begins = report.fresh || says == StateClaim::Begins;
        if self.state.is_over() && at < self.since && !begins {
            return Applied::Dropped(DropReason::Late);
        }
        if report.likely && self.hooked {
            return Applied::Dropped(DropReason::Unsure);
        }
        // A log is written and read with a delay: what it reports may be long over.
        if report.source == StateSource::Log && at <= self.since {
            return Applied::Dropped(DropReason::Late);
        }
        if self.is_overtaken(report, says, at) {
            return Applied::Dropped(DropReason::Late);
        }
        // We typed something since its own events reported a rest, and its log reports that rest
        // only now.
        let is_log_of_rest =
            report.source == StateSource::Log && says == StateClaim::Is(AgentState::Idle);
        if is_log_of_rest && self.progress.rests && self.state == AgentState::Working {
            return Applied::Dropped(DropReason::SameRest);
        }
        let is_at_prompt = matches!(self.state, AgentState::Prompting(_));
        match says {
            StateClaim::Is(AgentState::Idle)
                if is_at_prompt && !is_first_hand && !report.broken_off =>
            {
                Applied::Dropped(DropReason::Outranked)
            }
            // Some hosts report a failed turn first and then that it is over.
            StateClaim::Is(AgentState::Idle)
                if matches!(self.state, AgentState::Failed(_)) && !report.fresh =>
            {
                Applied::Dropped(DropReason::Outranked)
            }
            StateClaim::Is(AgentState::Failed(kind)) if self.fresh => {
                // It tried: this is a rest of its own, even if no one saw it work.
                self.activity += 1;
                self.fresh = false;
                self.become_state(AgentState::Failed(kind), report, at)
            }
            StateClaim::Is(AgentState::Prompting(kind)) => self.prompt(kind, report, at),
            StateClaim::Is(AgentState::Idle) if is_at_prompt => {
                // The host says that the turn is over, so someone answered.
                self.activity += 1;
                self.become_state(AgentState::Idle, report, at)
            }
            StateClaim::Is(state) => self.become_state(state, report, at),
            // Another call that ran in parallel has ended or was answered, or an earlier one of the
            // same call, or another subagent does something: the prompt is still open.
            StateClaim::Works
                if is_at_prompt
                    && (report.call_ended
                        && (report.call != self.call || self.is_told_since(at))
                        || is_first_hand && report.subagent != self.subagent
                        || is_first_hand && at < self.since && self.is_other_call(report)) =>
            {
                Applied::Dropped(DropReason::Outranked)
            }
            StateClaim::Begins | StateClaim::Works | StateClaim::Lives => {
                self.activity += 1;
                self.fresh = false;
                self.become_state(AgentState::Working, report, at)
            }
        }
    }

    /// Returns whether the host itself has reported something that happened after this report.
    fn is_overtaken(&self, report: &AgentReport, says: StateClaim, at: Timestamp) -> bool {
        let is_hook = report.source == StateSource::Hook;
        match says {
            StateClaim::Is(AgentState::Prompting(_)) if is_hook => {
                self.progress.is_past_prompt(report, at)
            }
            StateClaim::Is(AgentState::Prompting(_))
                if matches!(report.source, StateSource::Notification | StateSource::Screen) =>
            {
                self.progress.is_past_anything(report, at)
            }
            // An agent that is about to begin says so whatever the clock says.
            StateClaim::Is(AgentState::Idle) if !report.fresh => {
                self.progress.is_past_step(report, at) || self.progress.is_past_typing(at)
            }
            StateClaim::Works if is_hook || report.source == StateSource::Log => {
                self.progress.is_past_turn(at)
            }
            // The screen reports when it last showed a dialog that is gone. If the agent has been
            // at another prompt since, or at none, that is known already.
            StateClaim::Works if report.source == StateSource::Screen => {
                !matches!(self.state, AgentState::Prompting(_)) || self.since > at
            }
            _ => false,
        }
    }

    /// A prompt is an activity of the agent, and a rest of its own.
    fn prompt(&mut self, kind: PromptType, report: &AgentReport, at: Timestamp) -> Applied {
        if let AgentState::Prompting(shown) = self.state {
            // A question also asks for a permission, and notifications report it again.
            let is_known = shown == kind
                || shown != PromptType::Other
                    && (kind == PromptType::Permission || kind == PromptType::Other);
            // What another source saw first is the prompt that the host reports now.
            let is_same = report.source != StateSource::Hook
                || self.source > StateSource::Hook
                || self.is_same_call(report);
            if is_known && (shown != kind || is_same) {
                self.asked |= report.asks;
                self.source = self.source.min(report.source);
                return Applied::Same;
            }
        }
        self.activity += 1;
        self.fresh = false;
        self.set(AgentState::Prompting(kind), report, at);
        Applied::Changed
    }

    /// Returns whether its host reported its current state, and that it began after that time.
    fn is_told_since(&self, at: Timestamp) -> bool {
        self.source <= StateSource::Hook && at < self.since
    }

    /// Returns whether the report is known to be about a different call than the current one.
    fn is_other_call(&self, report: &AgentReport) -> bool {
        matches!((&self.call, &report.call), (Some(shown), Some(told)) if shown != told)
    }

    /// Returns whether a prompt is about the current call.
    fn is_same_call(&self, report: &AgentReport) -> bool {
        match (&self.call, &report.call) {
            (Some(one), Some(other)) => one == other,
            _ => self.tool == report.tool && self.about == report.about,
        }
    }

    fn hear_of_process(
        &mut self,
        report: &AgentReport,
        says: StateClaim,
        at: Timestamp,
    ) -> Applied {
        if report.process.is_some() && report.process != self.process {
            return Applied::Dropped(DropReason::OtherProcess);
        }
        match says {
            StateClaim::Is(state) if state.is_over() && !self.state.is_over() => {
                self.set(state, report, at);
                Applied::Changed
            }
            // Its command runs, so someone answered.
            StateClaim::Works if matches!(self.state, AgentState::Prompting(_)) => {
                if self.call.is_some() && self.call != report.call {
                    return Applied::Same;
                }
                self.activity += 1;
                self.become_state(AgentState::Working, report, at)
            }
            _ => Applied::Same,
        }
    }

    fn become_state(&mut self, state: AgentState, report: &AgentReport, at: Timestamp) -> Applied {
        if self.state == state {
            return Applied::Same;
        }
        self.set(state, report, at);
        Applied::Changed
    }

    fn set(&mut self, state: AgentState, report: &AgentReport, at: Timestamp) {
        self.state = state;
        self.source = report.source;
        self.since = at;
        self.asked = report.asks;
        if report.fresh {
            self.fresh = true;
        }
        if state == AgentState::Idle || state.is_over() {
            // Whatever it did or asked before is over, even if the source does not say so.
            self.tool = None;
            self.about = None;
            self.call = None;
            self.subagent = None;
            self.questions.clear();
        }
    }

    /// Copies everything but the state from a report.
    fn learn(&mut self, report: &AgentReport) {
        self.hooked |= report.source == StateSource::Hook;
        let keep = |known: &mut Option<String>, told: &Option<String>| {
            if told.is_some() {
                known.clone_from(told);
            }
        };
        keep(&mut self.host, &report.host);
        keep(&mut self.session, &report.session);
        keep(&mut self.work_dir, &report.work_dir);
        keep(&mut self.project, &report.project);
        keep(&mut self.log, &report.log);
        if report.process.is_some() {
            self.process.clone_from(&report.process);
        }
        // A call is over when its end is reported, or the next event does not name it; a dialog
        // when the screen shows another or none.
        let is_prompting = matches!(self.state, AgentState::Prompting(_));
        if report.source == StateSource::Screen && is_prompting {
            // The screen names no call: it describes in its own words what the last one waits for.
            keep(&mut self.about, &report.about);
        } else if report.source <= StateSource::Hook || report.source == StateSource::Screen {
            let goes_on = |text: &Option<String>| text.clone().filter(|_| !report.call_ended);
            self.tool = goes_on(&report.tool);
            self.about = goes_on(&report.about);
            self.call.clone_from(&report.call);
            self.subagent.clone_from(&report.subagent);
            self.questions.clone_from(&report.questions);
        }
    }
}

#[cfg(test)]
mod tests;
