//! The synchronous driver: a host's payload in, its reply out.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhook_model::json::{Object, shorten, to_spaced};
use anyhook_model::record::JOURNAL_VERSION;
use anyhook_model::{
    Caller, DecodeError, Effect, Event, EventKind, Host, Lost, Mode, OpenFormat, Outcome, Record,
    RecordId, Reply, RunRecord, Spelling, Verdict, exit_code,
};
use serde_json::Value;

use crate::discover::{Installed, Reading, Standing};
use crate::dispatch::{Dispatch, Due, Finished, RunResult, Step, run_record};
use crate::hook::Hook;
use crate::journal::Journal;
use crate::output::Said;
use crate::places::{Places, find_root, nearest_existing};
use crate::plan::Plan;
use crate::run::process::random_bits;
use crate::run::{Command, Runner, detached};
use crate::session::{self, Session};
use crate::settings::{AskFallback, Settings};

/// What an event is about is kept to this length.
const ABOUT_LIMIT: usize = 400;
/// A longer value would keep a script from being started at all.
const VARIABLE_LIMIT: usize = 4 * 1024;

/// Dispatches events to hooks, one after another.
#[derive(Debug)]
pub struct Engine {
    places: Places,
    runner: Runner,
}

/// Which event of a payload it is: some payloads are several events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    First,
    Further,
}

/// An event that went through its hooks.
#[derive(Clone, Debug)]
pub struct Dispatched {
    /// The verdict.
    pub verdict: Verdict,
    /// What the journal gets.
    pub record: Record,
    /// The event, with all input changes, and the project root its hooks were taken from.
    pub event: Event,
}

/// What an event would meet: the hooks, and the folder they are taken from.
#[derive(Debug)]
pub struct Scene {
    /// The project root.
    pub root: Option<PathBuf>,
    /// The installed hooks.
    pub installed: Installed,
}

impl Engine {
    /// Makes an engine for the given places.
    pub fn new(places: Places) -> Self {
        Self { places, runner: Runner::default() }
    }

    /// Makes orphans of hooks come to this process, so that none survives its hook's time limit.
    ///
    /// For a process that does nothing else: it changes whose child an orphan is.
    pub fn adopt_orphans(&mut self) {
        crate::run::descendants::adopt_orphans();
        crate::run::process::keep_exit_codes();
        self.runner.adopts_orphans = true;
    }

    /// Returns the places.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Answers a host's payload. Every path ends in a reply.
    pub fn dispatch(
        &self,
        host: &dyn Host,
        payload: &[u8],
        caller: &Caller,
        deadline: Option<Duration>,
    ) -> Reply {
        let began = Instant::now();
        let events = match host.decode(payload, caller) {
            Ok(events) => events,
            Err(error) => return self.refuse(host, &error, caller),
        };
        let mut verdict = Verdict::default();
        let mut first = None;
        let is_one_call = events.len() > 1 && events.iter().all(|event| event.tool.is_some());
        let mut all_allow = true;
        let mut records = Vec::with_capacity(events.len());
        for (index, event) in events.into_iter().enumerate() {
            let part = if index == 0 { Part::First } else { Part::Further };
            let left = deadline.map(|deadline| deadline.saturating_sub(began.elapsed()));
            let follows_stop = part == Part::Further
                && matches!(event.kind, EventKind::AfterAgent | EventKind::AfterStop);
            let mut dispatched = self.dispatch_part(host, event, left, part);
            if follows_stop {
                report_only(&mut dispatched.verdict);
            }
            if verdict.id.is_none() {
                verdict.id.clone_from(&dispatched.verdict.id);
            }
            all_allow &= dispatched.verdict.effect == Some(Effect::Allow);
            first.get_or_insert(dispatched.event);
            verdict.join(dispatched.verdict);
            records.push(dispatched.record);
            if verdict.is_block() {
                break;
            }
        }
        let Some(first) = first else { return Reply::default() };
        if is_one_call && verdict.effect == Some(Effect::Allow) && !all_allow {
            // Allowed is what every hook was asked about: one file of a patch does not allow the rest.
            verdict.effect = None;
            verdict.reason = None;
            verdict.by = None;
        }
        let lost = self.answer_for_nobody(host, &first, &mut verdict);
        let mut reply = host.encode(&first, &verdict);
        reply.lost.extend(lost);
        if let Some(last) = records.last_mut() {
            last.lost.clone_from(&reply.lost);
        }
        if let Err(error) = self.journal(&records) {
            reply.stderr.push_str(&format!("anyhook: the journal cannot be written: {error}\n"));
        }
        reply
    }

    /// Answers a payload that could not be read, and journals it.
    pub fn refuse(&self, host: &dyn Host, error: &DecodeError, caller: &Caller) -> Reply {
        let kind = EventKind::Other("unreadable".to_owned());
        let mut event = Event::new(kind, host.id(), &caller.work_dir, caller.now);
        event.project_dir.clone_from(&caller.project_dir);
        let scene = self.scene(self.unpinned_root(&event), &event.work_dir, Reading::WhatMayRun);
        let is_guard = |standing: &Standing| {
            let hook = &standing.hook;
            standing.out.is_none()
                && hook.blocks_on_failure()
                && hook.definition.mode == Mode::Enforce
        };
        let reply = host.refuse(error, scene.installed.hooks.iter().any(is_guard));
        event.project_dir = scene.root;
        let mut verdict = Verdict { warnings: vec![error.to_string()], ..Verdict::default() };
        verdict.effect = (reply.exit_code == exit_code::BLOCKED).then_some(Effect::Deny);
        let finished =
            Finished { verdict, event, runs: Vec::new(), skipped: Vec::new(), other_events: 0 };
        let record = new_record(RecordId::from_random(random_bits()), &finished, Duration::ZERO);
        // The answer does not depend on it.
        let _ = self.journal(&[record]);
        reply
    }

    /// Decides an `ask` where the host cannot ask anybody. Returns what was lost by it.
    fn answer_for_nobody(
        &self,
        host: &dyn Host,
        event: &Event,
        verdict: &mut Verdict,
    ) -> Option<Lost> {
        let asks = verdict.effect == Some(Effect::Ask) && event.kind.takes_input_change();
        if !asks || host.can_ask(event) {
            return None;
        }
        let reason = verdict.reason.take().unwrap_or_default();
        let instead = match Settings::load(&self.places, event.project_dir.as_deref()).ask_fallback
        {
            AskFallback::Deny => {
                verdict.effect = Some(Effect::Deny);
                verdict.reason = Some(format!(
                    "a person must say yes to this, and {} cannot ask: {reason}\nTo approve it, the person runs it, or sets ask_fallback = \"pass\" in anyhook.toml.",
                    host.id()
                ));
                "deny, with a reason that says how to approve"
            }
            AskFallback::Pass => {
                verdict.effect = None;
                "nothing (ask_fallback = \"pass\")"
            }
        };
        Some(Lost { what: "ask".to_owned(), instead: instead.to_owned() })
    }

    /// Writes records to the journal.
    pub fn journal(&self, records: &[Record]) -> io::Result<()> {
        let Some(state) = &self.places.state else {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "there is no home folder to keep it in",
            ));
        };
        let journal = Journal::new(state);
        records.iter().try_for_each(|record| journal.append(record))
    }

    /// Sends one event through its hooks, with what the session remembers. Does not journal.
    pub fn dispatch_event(
        &self,
        host: &dyn Host,
        event: Event,
        deadline: Option<Duration>,
    ) -> Dispatched {
        self.dispatch_part(host, event, deadline, Part::First)
    }

    fn dispatch_part(
        &self,
        host: &dyn Host,
        mut event: Event,
        deadline: Option<Duration>,
        part: Part,
    ) -> Dispatched {
        let began = Instant::now();
        let at = now();
        let id = RecordId::from_random(random_bits());
        let session = self.session(&event);
        let mut trouble = None;
        if let Some(session) = &session {
            trouble = remember(session, &mut event, self.places.state.as_deref(), part).err();
        }
        let root = self.root(&event, session.as_ref(), &mut trouble);
        event.project_dir.clone_from(&root);
        let scene = self.scene(root, &event.work_dir, Reading::WhatMayRun);
        let plan = Plan::new(&scene.installed, &event);
        let kind = event.kind.clone();
        let about = event.headline();
        let left = || deadline.map(|deadline| deadline.saturating_sub(began.elapsed()));
        let mut finished = Dispatch::new(host, plan, event).drive(|step| match step {
            Step::Run(due) => self.run(due, left(), &[]),
            Step::Detach(due) => self.detach(due, &id, &scene),
            Step::Done => RunResult::not_started("it is over"),
        });
        finished.verdict.id = Some(id.clone());
        if kind == EventKind::BeforeStop && finished.verdict.is_block() {
            let cap = Settings::load(&self.places, scene.root.as_deref()).stop_cap;
            let cap = host.stop_cap().map_or(cap, |host| host.min(cap));
            cap_stop(&mut finished.verdict, session.as_ref(), cap, &mut trouble);
        }
        finished.verdict.warnings.extend(scene.installed.notes.iter().cloned());
        if let Some(error) = trouble {
            finished.verdict.warnings.push(format!("the session cannot be remembered: {error}"));
        }
        let mut record = new_record(id, &finished, began.elapsed());
        record.at = at;
        // As it came: later turns may have changed the input.
        record.about = about.map(|text| shorten(&text, ABOUT_LIMIT));
        Dispatched { verdict: finished.verdict, record, event: finished.event }
    }

    /// Finds what an event would meet, without running or writing anything.
    pub fn look(&self, event: &Event) -> Scene {
        let pinned = self.session(event).and_then(|session| session.root());
        let root = pinned.or_else(|| self.unpinned_root(event));
        self.scene(root, &event.work_dir, Reading::All)
    }

    /// Returns the project root as the event alone tells it: the host's, else the repository.
    fn unpinned_root(&self, event: &Event) -> Option<PathBuf> {
        let repository = || find_root(&event.work_dir, self.places.home.as_deref());
        event.project_dir.clone().or_else(repository)
    }

    /// Runs one hook alone, waiting for it even if it is async; nothing is remembered or journaled.
    pub fn run_alone(
        &self,
        hook: &Hook,
        event: Event,
        environment: &[(OsString, OsString)],
    ) -> Finished {
        let installed = Installed::of(vec![hook.clone()]);
        Dispatch::new(&OpenFormat, Plan::new(&installed, &event), event).drive(|step| match step {
            Step::Run(due) | Step::Detach(due) => self.run(due, None, environment),
            Step::Done => RunResult::not_started("it is over"),
        })
    }

    fn session(&self, event: &Event) -> Option<Session> {
        let state = self.places.state.as_deref()?;
        event.session.as_deref().map(|id| Session::new(state, &event.host, id))
    }

    /// Returns the project root: the pinned one, else the host's, else the repository.
    fn root(
        &self,
        event: &Event,
        session: Option<&Session>,
        trouble: &mut Option<io::Error>,
    ) -> Option<PathBuf> {
        if let Some(pinned) = session.and_then(Session::root) {
            return Some(pinned);
        }
        let root = self.unpinned_root(event)?;
        match session.map(|session| session.pin_root(&root)) {
            Some(Ok(pinned)) => Some(pinned),
            Some(Err(error)) => {
                *trouble = Some(error);
                Some(root)
            }
            None => Some(root),
        }
    }

    fn scene(&self, root: Option<PathBuf>, work_dir: &Path, reading: Reading) -> Scene {
        let installed = Installed::find(&self.places, root.as_deref(), work_dir, reading);
        Scene { root, installed }
    }

    /// Makes the command of a hook whose turn has come.
    fn command(&self, due: &Due<'_>, more: &[(OsString, OsString)]) -> Option<Command> {
        let Due { hook, event, spelling } = due;
        let entry = hook.entry.as_ref()?;
        let work_dir = nearest_existing(event.project_dir.as_deref().unwrap_or(&event.work_dir));
        let mut environment: Vec<(OsString, OsString)> = Vec::with_capacity(10 + more.len());
        let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
        let text = |value: &str| OsString::from(shorten(&value.replace('\0', ""), VARIABLE_LIMIT));
        set("ANYHOOK_EVENT", text(event.kind.name(*spelling)));
        set("ANYHOOK_HOOK_NAME", text(hook.name()));
        set("ANYHOOK_HOOK_DIR", hook.runs_from.clone().into());
        set("ANYHOOK_PROJECT_DIR", work_dir.clone().into());
        set("ANYHOOK_SESSION_ID", text(event.session.as_deref().unwrap_or("")));
        set("ANYHOOK_HOST", text(&event.host));
        set("ANYHOOK_BIN", self.places.binary.clone().into());
        set("CLAUDE_PROJECT_DIR", work_dir.clone().into());
        if let Some(tool) = &event.tool {
            set("ANYHOOK_TOOL", text(&tool.name));
        }
        environment.extend_from_slice(more);
        Some(Command::new(entry, work_dir, environment))
    }

    fn run(
        &self,
        due: &Due<'_>,
        left: Option<Duration>,
        more: &[(OsString, OsString)],
    ) -> RunResult {
        let Some(command) = self.command(due, more) else {
            return RunResult::not_started("there is nothing to run");
        };
        let timeout = Duration::from_millis(due.hook.definition.timeout_ms);
        let limit = left.map_or(timeout, |left| left.min(timeout));
        if limit.is_zero() {
            return RunResult::not_started("the caller's deadline has passed");
        }
        self.runner.run(&command, &due.input(), limit)
    }

    /// Starts a hook that runs aside.
    fn detach(&self, due: &Due<'_>, of: &RecordId, scene: &Scene) -> RunResult {
        let began = Instant::now();
        let Some(command) = self.command(due, &[]) else {
            return RunResult::not_started("there is nothing to run");
        };
        let outcome = Finished {
            verdict: Verdict::default(),
            event: Event {
                raw: serde_json::Map::new(),
                context: serde_json::Map::new(),
                ..due.event.clone()
            },
            runs: vec![run_record(due.hook, Said::default(), None)],
            skipped: Vec::new(),
            other_events: 0,
        };
        let mut record = new_record(RecordId::from_random(random_bits()), &outcome, Duration::ZERO);
        record.of = Some(of.clone());
        record.project_dir = scene.root.as_ref().map(|root| root.to_string_lossy().into_owned());
        let job = detached::Job {
            command,
            input: due.input(),
            limit_ms: due.hook.definition.timeout_ms,
            stdout: due.hook.definition.stdout,
            state: self.places.state.clone().map(PathBuf::into_os_string),
            record,
        };
        match detached::launch(&self.places.binary, &job) {
            Ok(()) => RunResult {
                outcome: Outcome::Detached,
                took: began.elapsed(),
                ..RunResult::not_started("")
            },
            Err(error) => {
                RunResult::not_started(format!("nobody could be started to look after it: {error}"))
            }
        }
    }
}

/// Takes the effect from a verdict on what has already happened: the stop it follows stands.
fn report_only(verdict: &mut Verdict) {
    if verdict.effect.take() == Some(Effect::Deny) {
        let by = verdict.by.take().unwrap_or_default();
        let reason = verdict.reason.take().unwrap_or_default();
        verdict.warnings.push(format!("{by}: {reason}"));
    }
}

/// Remembers what an event tells about its session, and fills in what only we can count.
fn remember(
    session: &Session,
    event: &mut Event,
    state: Option<&Path>,
    part: Part,
) -> io::Result<()> {
    // A blocked stop that the host sends back as a prompt is nobody's prompt.
    if event.kind == EventKind::BeforeAgent
        && event.repeats.as_deref().is_some_and(|id| session.has_blocked_stop(id))
    {
        event.kind = EventKind::Other("continuation".to_owned());
    }
    let written = (|| {
        session.started(event.at)?;
        match event.kind {
            EventKind::SessionStart => {
                if let Some(state) = state {
                    session::forget_old(state, SystemTime::now());
                }
                session.begin_turn()
            }
            // A subagent's prompt is part of the turn that started it.
            EventKind::BeforeAgent if event.agent.is_none() => session.begin_turn(),
            // A patch is one call, and one event for each of its files.
            EventKind::BeforeTool if part == Part::First => session.count_step(),
            _ => Ok(()),
        }
    })();
    let mut fill = |name: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|_| event.data.get(name).is_none_or(Value::is_null)) {
            event.data.insert(name.to_owned(), value);
        }
    };
    match event.kind {
        EventKind::BeforeStop | EventKind::AfterStop => {
            fill("step_count", Some(session.steps_in_turn().into()));
        }
        EventKind::SessionEnd => {
            fill("total_steps", Some(session.total_steps().into()));
            let seconds = session.start().map(|start| event.at.duration_since(start).as_secs());
            fill("duration_seconds", seconds.map(Value::from));
        }
        _ => {}
    }
    written
}

/// Lets a stop pass that was blocked too often in this turn; counts it otherwise.
fn cap_stop(
    verdict: &mut Verdict,
    session: Option<&Session>,
    cap: u32,
    trouble: &mut Option<io::Error>,
) {
    let Some(session) = session else { return };
    if session.stop_blocks_in_turn() < u64::from(cap) {
        let id = verdict.id.as_ref().map_or("", RecordId::as_str);
        if let Err(error) = session.count_stop_block(id) {
            trouble.get_or_insert(error);
        }
        return;
    }
    let by = verdict.by.take().unwrap_or_default();
    let reason = verdict.reason.take().unwrap_or_default();
    verdict.effect = None;
    verdict.capped = true;
    verdict.warnings.push(format!(
        "the stop passes although {by} blocks it: {cap} stops were blocked in this turn (stop_cap in anyhook.toml). It said: {reason}"
    ));
}

fn new_record(id: RecordId, finished: &Finished, took: Duration) -> Record {
    let event = &finished.event;
    let short = |text: &str| shorten(text, NAME_LIMIT);
    let short_path = |path: &Path| short(&path.to_string_lossy());
    let event_kind = match &event.kind {
        EventKind::Other(name) => EventKind::Other(short(name)),
        known => known.clone(),
    };
    Record {
        v: JOURNAL_VERSION,
        id,
        of: None,
        at: now(),
        host: event.host.clone(),
        event: event_kind,
        native_name: event.native_name.as_deref().map(short),
        session: event.session.as_deref().map(short),
        work_dir: short_path(&event.work_dir),
        project_dir: event.project_dir.as_deref().map(short_path),
        tool: event.tool.as_ref().map(|tool| short(&tool.name)),
        about: event.headline().map(|text| shorten(&text, ABOUT_LIMIT)),
        runs: finished.runs.iter().cloned().map(short_run).collect(),
        skipped: finished.skipped.iter().take(SKIPPED_LIMIT).cloned().collect(),
        other_events: finished.other_events,
        verdict: short_verdict(finished.verdict.clone()),
        lost: Vec::new(),
        took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
    }
}

/// Cuts what a hook said to what the journal keeps.
fn short_run(mut run: RunRecord) -> RunRecord {
    let decision = &mut run.decision;
    decision.modified_input = decision.modified_input.take().map(short_input);
    for text in [&mut decision.additional_context, &mut decision.log] {
        *text = text.take().map(|text| shorten(&text, TEXT_LIMIT));
    }
    run
}

/// Cuts a verdict to what the journal keeps.
fn short_verdict(mut verdict: Verdict) -> Verdict {
    verdict.input = verdict.input.map(short_input);
    // The same as `input`, in other words.
    verdict.native_input = None;
    verdict.context = verdict.context.map(|text| shorten(&text, TEXT_LIMIT));
    verdict
}

/// Cuts the long values of an input; one of very many fields becomes a note of its size.
fn short_input(input: Object) -> Object {
    let size = to_spaced(&input).len();
    if size <= TEXT_LIMIT {
        return input;
    }
    let mut short = Object::new();
    short.insert("(cut for the journal)".to_owned(), format!("{size} bytes").into());
    for (key, value) in input.into_iter().take(20) {
        short.insert(shorten(&key, NAME_LIMIT), shorten(&to_spaced(&value), ABOUT_LIMIT).into());
    }
    short
}

/// Names and paths in the journal are kept to this length.
const NAME_LIMIT: usize = 1024;
/// Texts and inputs in the journal are kept to this length.
const TEXT_LIMIT: usize = 64 * 1024;
/// So many hooks that were left out are named in the journal.
const SKIPPED_LIMIT: usize = 200;

/// Returns the time, to the millisecond.
pub fn now() -> jiff::Timestamp {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// Returns what `explain` shows: each hook in order, and why it would not run, if so.
pub fn explain<'scene>(
    scene: &'scene Scene,
    event: &Event,
) -> Vec<(&'scene Hook, Spelling, Result<(), anyhook_model::SkipReason>)> {
    let plan = Plan::new(&scene.installed, event);
    let mut due: Vec<_> = plan
        .steps
        .iter()
        .map(|step| (step.hook, step.spelling, step.mismatch(event).map_or(Ok(()), Err)))
        .collect();
    due.extend(plan.skipped.into_iter().map(|(hook, why)| (hook, Spelling::Canonical, Err(why))));
    due
}
