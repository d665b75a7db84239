//! The synchronous driver: a host's payload in, its reply out.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhook_model::event::Doubt;
use anyhook_model::inquiry::QuestionAnswer;
use anyhook_model::instructions::Instructions;
use anyhook_model::json::{Object, any_leaf, shorten, to_spaced};
use anyhook_model::report::RanAnyway;
use anyhook_model::{
    Alarm, AlarmKind, Caller, DecodeError, Effect, Event, EventKind, Host, Lost, Mode, OpenFormat,
    Outcome, Payload, Record, RecordId, Reply, ReplyRecord, Spelling, Verdict, exit_code,
};
use rustix::io::Errno;
use serde_json::Value;

use crate::about::{ABOUT_LIMIT, LONG, about};
use crate::alarms;
use crate::announce;
use crate::digest::{hex, sha256};
use crate::discover::{Installed, Reading, Standing};
use crate::dispatch::{Dispatch, Due, Finished, RunResult, Step, run_record};
use crate::failure_streak;
use crate::guard_marker;
use crate::hook::Hook;
use crate::index::{self, Met};
use crate::instructions;
use crate::journal::denied::{DIGEST, is_digest};
use crate::journal::{Appended, Journal};
use crate::large::{Known, LARGE, Read};
use crate::matcher::Leaves;
use crate::output::Said;
use crate::person::{self, Person};
use crate::places::{Places, find_root, nearest_existing};
use crate::plan::Plan;
use crate::process_name;
use crate::redact::without_secrets;
use crate::roots::Roots;
use crate::run::environment::{Inherits, of_guard};
use crate::run::interruption::IsIgnored;
use crate::run::process::random_bits;
use crate::run::{Command, Runner, detached};
use crate::session::{self, Pinned, Session};
use crate::session_guards::{self, Checked};
use crate::settings::{AskFallback, JournalSettings, Settings};

/// Inputs up to this size have a digest beside their call's id.
const DIGEST_LIMIT: usize = LONG;
/// A longer value would keep a script from being started at all.
const VARIABLE_LIMIT: usize = 4 * 1024;

/// Dispatches events to hooks, one after another.
#[derive(Debug)]
pub struct Engine {
    places: Places,
    runner: Runner,
    /// Whether an agent started this process, so that records can tell which.
    names_agent: bool,
    person: Option<Box<dyn Person>>,
    /// Whether hooks are found by the index.
    by_index: bool,
    /// Finds the program where the places do not name it, when it is needed.
    find_binary: Option<fn() -> Option<PathBuf>>,
    binary: OnceCell<Option<PathBuf>>,
    /// How the journal is kept, once an index has told.
    journal_settings: OnceCell<JournalSettings>,
    /// Payloads longer than this are read in part, if no hook needs more.
    pub(crate) large: usize,
    /// Who is told which event it is, before any hook is asked.
    tell_kind: Option<fn(&EventKind)>,
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
    /// What the journal gets. It is large, and handed on often.
    pub record: Box<Record>,
    /// The event, with all input changes, and the project root its hooks were taken from.
    pub event: Event,
}

/// An event on its way through its hooks: what is known of it beside them.
#[derive(Debug)]
pub struct Opened {
    /// The id its record will have.
    pub id: RecordId,
    /// The hooks it meets; a driver may add to them.
    pub scene: Scene,
    began: Instant,
    at: jiff::Timestamp,
    session: Option<Session>,
    trouble: Option<io::Error>,
    counted: Object,
    about: Option<String>,
    call: CallName,
    part: Part,
    alarms: Vec<Alarm>,
}

/// A hook's process that is about to be started.
#[derive(Debug)]
pub struct Prepared {
    command: Command,
    input: String,
    limit: Duration,
}

impl Prepared {
    /// Runs it to its end or its time limit. Blocks.
    pub fn run(&self) -> RunResult {
        Runner::default().run(&self.command, &self.input, self.limit)
    }
}

/// What an event would meet: the hooks, and the folder they are taken from.
#[derive(Debug)]
pub struct Scene {
    /// The project root.
    pub root: Option<PathBuf>,
    /// The roots the hooks are taken from.
    roots: Roots,
    /// The installed hooks.
    pub installed: Installed,
    /// Which index they are of; none if they were read.
    pub(crate) stamp: Option<u64>,
}

impl Engine {
    /// Makes an engine for the given places.
    pub fn new(places: Places) -> Self {
        Self {
            places,
            runner: Runner::default(),
            names_agent: false,
            person: None,
            by_index: false,
            find_binary: None,
            binary: OnceCell::new(),
            journal_settings: OnceCell::new(),
            large: LARGE,
            tell_kind: None,
        }
    }

    /// Has hooks found by the index: the same answer, at less cost.
    pub fn with_index(mut self) -> Self {
        self.by_index = true;
        self
    }

    /// Has a person asked where the settings say so.
    pub fn with_person(mut self, person: impl Person + 'static) -> Self {
        self.person = Some(Box::new(person));
        self
    }

    /// Sets the length above which payloads are read only in part, if no hook needs more. Nothing but
    /// time and memory depends on it.
    pub fn with_large(mut self, bytes: usize) -> Self {
        self.large = bytes;
        self
    }

    /// Says that an agent started this process to answer one payload: records tell which it is.
    pub fn be_hook_process(&mut self, is_ignored: IsIgnored) {
        self.names_agent = true;
        self.by_index = true;
        self.adopt_orphans();
        self.heed_signals(is_ignored);
    }

    /// Makes orphans of hooks come to this process, so that none survives its hook's time limit.
    ///
    /// For a process that does nothing else: it changes whose child an orphan is.
    pub fn adopt_orphans(&mut self) {
        self.runner = Runner::adopting();
    }

    /// Has a signal that asks this process to end (INT, TERM, HUP) end the running hook first, with
    /// everything it started; its `on_failure` then decides. For a process that looks at
    /// [`Self::interrupted`] afterwards. After [`Self::adopt_orphans`].
    pub fn heed_signals(&mut self, is_ignored: IsIgnored) {
        self.runner.heed_signals(is_ignored);
    }

    /// Returns the signal that asked this process to end while hooks ran, if one did.
    pub fn interrupted(&self) -> Option<i32> {
        self.runner.interrupted()
    }

    /// Has the program looked for when it is needed, where the places do not name it.
    pub fn find_binary_by(&mut self, find: fn() -> Option<PathBuf>) {
        self.find_binary = Some(find);
    }

    /// Has somebody told which event a payload is, before any hook is asked.
    pub fn tell_kind_to(&mut self, told: fn(&EventKind)) {
        self.tell_kind = Some(told);
    }

    fn binary(&self) -> Option<&Path> {
        let find = || self.places.binary.clone().or_else(|| self.find_binary?());
        self.binary.get_or_init(find).as_deref()
    }

    /// Returns the places.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Answers a host's payload. Every path ends in a reply.
    ///
    /// A payload that is handed over goes into the journal as it is; a borrowed one is copied.
    pub fn dispatch(
        &self,
        host: &dyn Host,
        payload: impl Into<Vec<u8>>,
        caller: &Caller,
        deadline: Option<Duration>,
    ) -> Reply {
        self.answer(host, payload.into(), caller, deadline)
    }

    fn answer(
        &self,
        host: &dyn Host,
        payload: Vec<u8>,
        caller: &Caller,
        deadline: Option<Duration>,
    ) -> Reply {
        let began = Instant::now();
        let Read { events, mut known } = match self.read(host, &payload, caller) {
            Ok(read) => read,
            Err(error) => return self.refuse(host, &error, &payload, caller),
        };
        if let Some(event) = events.first().filter(|event| event.doubt == Some(Doubt::UnknownEvent))
            && let Some(reply) = self.refuse_unknown(host, event, &payload)
        {
            return reply;
        }
        if let (Some(tell), Some(event)) = (self.tell_kind, events.first()) {
            tell(&event.kind);
        }
        let mut verdict = Verdict::default();
        let mut dispatched_events = Vec::with_capacity(1);
        let is_one_call = events.iter().filter(|event| event.tool.is_some()).count() > 1;
        let mut all_allow = true;
        let mut records = Vec::with_capacity(events.len());
        for (index, event) in events.into_iter().enumerate() {
            let part = if index == 0 { Part::First } else { Part::Further };
            let left = deadline.map(|deadline| deadline.saturating_sub(began.elapsed()));
            let only_told = part == Part::Further
                && matches!(
                    event.kind,
                    EventKind::AfterAgent | EventKind::AfterStop | EventKind::Notification
                );
            let agent_id = caller.agent_id.as_deref();
            let known = known.take();
            let mut dispatched = self.dispatch_part(host, event, left, part, agent_id, known);
            if only_told {
                report_only(&mut dispatched.verdict);
            }
            self.name_agent(host, &mut dispatched.record, caller, part);
            if verdict.id.is_none() {
                verdict.id.clone_from(&dispatched.verdict.id);
            }
            let is_call = dispatched.event.tool.is_some();
            all_allow &= !is_call || dispatched.verdict.effect == Some(Effect::Allow);
            if dispatched_events.is_empty() || is_one_call && is_call {
                dispatched_events.push(dispatched.event);
            }
            verdict.join(dispatched.verdict);
            records.push(*dispatched.record);
            if verdict.is_block() {
                break;
            }
        }
        let Some(first) = dispatched_events.first() else { return Reply::default() };
        if is_one_call && verdict.effect == Some(Effect::Allow) && !all_allow {
            // Allowed is what every hook was asked about: one file of a patch does not allow the rest.
            verdict.effect = None;
            verdict.reason = None;
            verdict.by = None;
        }
        if let Some(record) = records.first_mut() {
            let left = deadline.map(|deadline| deadline.saturating_sub(began.elapsed()));
            self.ask_person(host, &dispatched_events, &mut verdict, record, left);
        }
        let lost = self.answer_for_nobody(host, first, &mut verdict);
        let mut reply = host.encode(first, &verdict);
        reply.lost.extend(lost);
        reply.blocks = verdict.is_block() && reply.lost.iter().all(|lost| lost.what != "deny");
        if let Some(record) = records.first() {
            self.remember_call(first, record, &verdict);
        }
        match self.journal_answer(records, payload.into(), &mut reply) {
            Err(error) if !reply.blocks => self.refuse_blind(host, first, &error).unwrap_or(reply),
            _ => reply,
        }
    }

    /// Reads what the daemon wants of this agent's hook processes; nothing without an id.
    fn instructions(&self, agent_id: Option<&str>) -> Option<Instructions> {
        instructions::read(self.places.state.as_deref()?, agent_id?)
    }

    /// Tells in a record which agent it was.
    fn name_agent(&self, host: &dyn Host, record: &mut Record, caller: &Caller, part: Part) {
        record.agent_id.clone_from(&caller.agent_id);
        let begins = matches!(record.event, EventKind::SessionStart | EventKind::BeforeAgent);
        if self.names_agent && begins && part == Part::First {
            record.process = process_name::of_agent(host.process_names());
        }
    }

    /// Has a person decide, where the settings or the agent's instructions say so and somebody is there in time.
    fn ask_person(
        &self,
        host: &dyn Host,
        events: &[Event],
        verdict: &mut Verdict,
        record: &mut Record,
        left: Option<Duration>,
    ) {
        let (Some(person), Some(event)) = (&self.person, events.first()) else { return };
        // Whoever asked us to end waits for nobody.
        if person::wanted(event, verdict).is_none() || self.interrupted().is_some() {
            return;
        }
        let mut settings = Settings::load(&self.places, event.project_dir.as_deref()).decisions;
        if let Some(instructions) = self.instructions(record.agent_id.as_deref()) {
            instructions::ask(&instructions, event, &mut settings);
        }
        let questions = person::Questions::of(host, event);
        let inquiry = person::inquiry(events, verdict, record, &settings, left, questions);
        let Some(inquiry) = inquiry else { return };
        let Some(answer) = person.ask(&self.places, &inquiry, record) else { return };
        if person::take(verdict, &inquiry, &answer) {
            if !answer.answers.is_empty() {
                answer_questions(host, event, &answer.answers, verdict);
            }
            record.verdict.effect = verdict.effect;
            record.verdict.by.clone_from(&verdict.by);
            record.verdict.reason.clone_from(&verdict.reason);
        }
        record.answered = Some(answer);
    }

    /// Journals what came in and what was answered. The answer does not depend on it.
    fn journal_answer(
        &self,
        mut records: Vec<Record>,
        payload: Payload,
        reply: &mut Reply,
    ) -> io::Result<()> {
        if let Some((first, further)) = records.split_first_mut() {
            first.payload = Some(payload);
            first.lost.clone_from(&reply.lost);
            first.reply = Some(ReplyRecord {
                exit_code: reply.exit_code,
                stdout: reply.stdout.clone(),
                stderr: reply.stderr.clone(),
            });
            for record in further {
                record.with = Some(first.id.clone());
            }
        }
        self.journal(records).inspect_err(|error| {
            reply.stderr.push_str(&format!("anyhook: the journal cannot be written: {error}\n"));
        })
    }

    /// Remembers which call was denied, so that it is noticed if it runs nevertheless.
    pub fn remember_call(&self, event: &Event, record: &Record, verdict: &Verdict) {
        let (Some(session), Some(call)) = (self.session(event), &record.call) else { return };
        let id = verdict.id.as_ref().unwrap_or(&record.id);
        // What cannot be remembered is found by `verify`: the journal has it all.
        let _ = match event.kind {
            EventKind::BeforeTool | EventKind::PermissionRequest if verdict.is_block() => {
                session.deny(call, id.as_str())
            }
            EventKind::BeforeTool => {
                let digest = record.call_digest.as_ref().unwrap_or(call);
                if is_digest(digest) { session.let_through(digest) } else { Ok(()) }
            }
            _ => Ok(()),
        };
    }

    /// Answers a payload that could not be read, and journals it.
    pub fn refuse(
        &self,
        host: &dyn Host,
        error: &DecodeError,
        payload: &[u8],
        caller: &Caller,
    ) -> Reply {
        let kind = EventKind::Other("unreadable".to_owned());
        let mut event = Event::new(kind, host.id(), &caller.work_dir, caller.now);
        event.project_dir.clone_from(&caller.project_dir);
        let roots = self.unpinned(&event, event.project_dir.clone());
        let scene = self.scene(roots, &event.work_dir, Reading::WhatMayRun);
        // Who speaks the open format is told what is wrong with an event, unless it may be a call.
        let for_tools = host.id() == OpenFormat.id();
        let guarded = scene.installed.hooks.iter().any(|standing| is_guard(standing, for_tools));
        event.project_dir = scene.root;
        self.refuse_as(host, error, payload, event, guarded)
    }

    /// Refuses a tool call whose event has a name that nobody knows, where a guard of tool calls is
    /// installed: it is due at no such event.
    fn refuse_unknown(&self, host: &dyn Host, event: &Event, payload: &[u8]) -> Option<Reply> {
        let scene = self.scene(self.known_roots(event), &event.work_dir, Reading::WhatMayRun);
        if !scene.installed.hooks.iter().any(|standing| is_guard(standing, true)) {
            return None;
        }
        let error = DecodeError::UnknownEvent(shorten(&event.kind.to_string(), 100));
        let mut refused = Event::new(event.kind.clone(), host.id(), &event.work_dir, event.at);
        refused.session.clone_from(&event.session);
        refused.project_dir = scene.root;
        Some(self.refuse_as(host, &error, payload, refused, true))
    }

    /// Answers a payload that no hook was asked about, and journals it.
    fn refuse_as(
        &self,
        host: &dyn Host,
        error: &DecodeError,
        payload: &[u8],
        event: Event,
        guarded: bool,
    ) -> Reply {
        let mut reply = host.refuse(error, guarded);
        reply.blocks = guarded;
        let mut verdict = Verdict { warnings: vec![error.to_string()], ..Verdict::default() };
        verdict.effect = (reply.exit_code == exit_code::BLOCKED).then_some(Effect::Deny);
        let finished = Finished { verdict, ..Finished::of(event) };
        let id = new_id();
        let (verdict, _, mut record) = finish(id, finished, Duration::ZERO);
        record.verdict = verdict;
        let _ = self.journal_answer(vec![*record], Payload::new(payload), &mut reply);
        reply
    }

    /// Refuses a tool call where not a single file could be opened, so that no hook was found, and a
    /// guard is known to be installed.
    fn refuse_blind(&self, host: &dyn Host, event: &Event, error: &io::Error) -> Option<Reply> {
        let is_exhausted = [Errno::MFILE, Errno::NFILE]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
        let is_tool_call =
            matches!(event.kind, EventKind::BeforeTool | EventKind::PermissionRequest);
        if !is_exhausted || !is_tool_call || !guard_marker::is_set(self.places.state.as_deref()?) {
            return None;
        }
        let why = "cannot be decided on: no file can be opened, too many are open (ulimit -n)";
        let mut reply = host.refuse(&DecodeError::NotTaken(why.to_owned()), true);
        reply.blocks = true;
        Some(reply)
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
    pub fn journal(&self, records: Vec<Record>) -> io::Result<()> {
        let Some(state) = &self.places.state else {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "there is no home folder to keep it in",
            ));
        };
        let settings = self.journal_settings.get().cloned();
        let settings = settings.unwrap_or_else(|| Settings::load(&self.places, None).journal);
        let journal = Journal::with(state, settings);
        if journal.append(records)? == Appended::AndClosedOne {
            // If it cannot be done now, whoever closes the next segment does it.
            let _ = match self.binary() {
                Some(binary) => detached::launch_keeper(binary, &self.places),
                None => journal.keep(now()).map(drop),
            };
        }
        Ok(())
    }

    /// Sends one event through its hooks, with what the session remembers. Does not journal; the
    /// record has the event as its payload.
    pub fn dispatch_event(
        &self,
        host: &dyn Host,
        event: Event,
        deadline: Option<Duration>,
    ) -> Dispatched {
        let payload = Payload::from(event.to_json(Spelling::Canonical));
        let mut dispatched = self.dispatch_part(host, event, deadline, Part::First, None, None);
        dispatched.record.payload = Some(payload);
        dispatched
    }

    fn dispatch_part(
        &self,
        host: &dyn Host,
        mut event: Event,
        deadline: Option<Duration>,
        part: Part,
        agent_id: Option<&str>,
        known: Option<Known>,
    ) -> Dispatched {
        // Where it is not certain what is called, every guard is asked for.
        let by_index = self.by_index && event.doubt.is_none();
        let can_tell = can_tell(host, &event.kind);
        let opened = self.open_part(&mut event, part, by_index, known, can_tell);
        let plan = Plan::new(&opened.scene.installed, &event);
        let left = || deadline.map(|deadline| deadline.saturating_sub(opened.began.elapsed()));
        let mut finished = Dispatch::new(host, plan, event).drive(|step| match step {
            Step::Run(due) => self.run(due, left(), &[]),
            Step::Detach(due) => self.detach(due, &opened.id, &opened.scene),
            Step::Done => RunResult::not_started("it is over"),
        });
        deny_doubtful(&opened.scene, &mut finished);
        if instructions::may_hold(&finished.event, &finished.verdict)
            && let Some(instructions) = self.instructions(agent_id)
        {
            instructions::hold(instructions, &finished.event, &mut finished.verdict);
        }
        self.close(host, opened, finished)
    }

    /// Begins the dispatch of an event for a driver of its own: remembers what it tells of its
    /// session, and finds the hooks it meets.
    ///
    /// The driver plans ([`Plan::new`]), takes the [`Dispatch`] to its end and hands the result to
    /// [`Self::close`].
    pub fn open(&self, event: &mut Event) -> Opened {
        // Hooks that the driver adds may change what others match: none of them can be passed by.
        self.open_part(event, Part::First, false, None, is_heard(&event.kind))
    }

    fn open_part(
        &self,
        event: &mut Event,
        part: Part,
        by_index: bool,
        known: Option<Known>,
        can_tell: bool,
    ) -> Opened {
        let (began, at) = (Instant::now(), now());
        let session = self.session(event);
        let mut trouble = None;
        let mut counted = Object::new();
        if let Some(session) = &session {
            let state = self.places.state.as_deref();
            trouble = remember(session, event, &mut counted, state).err();
        }
        // One that was read in part has had its place filled in.
        let named = known.as_ref().map_or(&event.project_dir, |known| &known.scene.roots.named);
        let named = named.clone();
        let roots = self.roots(event, named, session.as_ref(), &mut trouble);
        self.set_place(event, roots.pinned.as_deref());
        let (scene, told) = known.map(|known| (known.scene, known.about)).unzip();
        let mut scene = scene
            .filter(|scene| scene.roots == roots)
            .unwrap_or_else(|| self.meet(roots, event, by_index, &OnceCell::new()));
        let mut alarms = Vec::new();
        if let Some(session) = &session {
            match self.check_guards(session, &scene, event, can_tell) {
                Ok(checked) => {
                    self.add_remembered(&mut scene, event, checked.remembered);
                    alarms = checked.alarms;
                }
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        Opened {
            id: new_id(),
            scene,
            began,
            at,
            session,
            trouble,
            counted,
            // As it came: hooks may change the input.
            about: told.unwrap_or_else(|| about(event, &[])),
            call: CallName::of(event),
            part,
            alarms,
        }
    }

    /// Compares the hooks of an event with those its session began with.
    fn check_guards(
        &self,
        session: &Session,
        scene: &Scene,
        event: &Event,
        can_tell: bool,
    ) -> io::Result<Checked> {
        let Some(state) = self.places.state.as_deref() else { return Ok(Checked::default()) };
        let root = scene.root.as_deref();
        let find = || {
            if scene.stamp.is_none() {
                return scene.installed.clone();
            }
            Installed::find_in(&self.places, &scene.roots, &event.work_dir, Reading::WhatMayRun)
        };
        let stamp = self.stamp(scene, state);
        let folder = session.folder();
        let scene = session_guards::Scene { state, folder, root, stamp, can_tell, now: now() };
        session_guards::check(&scene, find, |installed| announce::hooks_off(installed, state))
    }

    /// Adds guards that decide as their session remembers them.
    fn add_remembered(&self, scene: &mut Scene, event: &Event, remembered: Vec<Hook>) {
        let is_due = |hook: &Hook| hook.definition.spelling_of(&event.kind).is_some();
        if !remembered.iter().any(is_due) {
            return;
        }
        if scene.stamp.take().is_some() {
            // What one of them changes, another hook may match: all of them are needed.
            let reading = Reading::WhatMayRun;
            let (roots, work_dir) = (&scene.roots, &event.work_dir);
            scene.installed = Installed::find_in(&self.places, roots, work_dir, reading);
        }
        let hooks = &mut scene.installed.hooks;
        for hook in remembered.into_iter().filter(is_due) {
            if hooks.iter().any(|standing| standing.hook.name() == hook.name()) {
                continue;
            }
            let before =
                |standing: &Standing| standing.hook.definition.priority >= hook.definition.priority;
            let place = hooks.iter().take_while(|standing| before(standing)).count();
            hooks.insert(place, Standing { hook, out: None });
        }
    }

    /// Ends a dispatch that [`Self::open`] began: caps a stop gate, raises alarms, makes the record.
    pub fn close(&self, host: &dyn Host, opened: Opened, mut finished: Finished) -> Dispatched {
        let Opened {
            id,
            scene,
            began,
            at,
            session,
            mut trouble,
            counted,
            about,
            call,
            part,
            alarms,
        } = opened;
        finished.verdict.id = Some(id.clone());
        if finished.event.kind == EventKind::BeforeStop && finished.verdict.is_block() {
            let cap = Settings::load(&self.places, scene.root.as_deref()).stop_cap;
            let cap = host.stop_cap().map_or(cap, |host| host.min(cap));
            cap_stop(&mut finished.verdict, session.as_ref(), cap, &mut trouble);
        }
        if let Some(state) = &self.places.state {
            finished.runs.iter().for_each(|run| failure_streak::remember(state, run));
        }
        let meant = match &finished.event.kind {
            EventKind::Other(name) => Some((name, EventKind::slip_of(name))),
            _ => None,
        };
        if let Some((name, meant)) = meant
            && (meant.is_some() || finished.event.doubt == Some(Doubt::UnknownEvent))
        {
            let hint = match meant {
                Some(meant) if meant == name => "it is another agent's event".to_owned(),
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "it carries a tool call that no hook was asked about".to_owned(),
            };
            let name = shorten(name, 100);
            let warning = format!("unknown event `{name}`, so no hook ran: {hint}");
            finished.verdict.warnings.push(warning);
        }
        finished.verdict.warnings.extend(scene.installed.notes.iter().cloned());
        // A patch is one call, and one event for each of its files. What ends us before this point has
        // left the call unasked.
        if let (Some(session), EventKind::BeforeTool, Part::First) =
            (&session, &finished.event.kind, part)
        {
            let changed = finished.verdict.input.as_ref().map(|_| CallName::of(&finished.event));
            let changed = changed.filter(|_| call.digest.is_none()).and_then(|name| name.call);
            let counted =
                session.count_call(call.call.as_deref().unwrap_or(""), changed.as_deref());
            trouble = trouble.or(counted.err());
        }
        if let Some(error) = trouble {
            finished.verdict.warnings.push(format!("the session cannot be remembered: {error}"));
        }
        let (mut verdict, event, mut record) = finish(id, finished, began.elapsed());
        (record.at, record.about, record.counted) = (at, about, counted);
        (record.call, record.call_digest) = (call.call, call.digest);
        record.alarms = alarms;
        self.raise_alarms(host, session.as_ref(), &event, &mut record, &mut verdict, part);
        record.verdict.clone_from(&verdict);
        Dispatched { verdict, record, event }
    }

    /// Tells of what went past a guard: at once, and of calls that ran again when the next session
    /// starts.
    ///
    /// A host that has no words for the person tells the model, which is not meant to keep it.
    fn raise_alarms(
        &self,
        host: &dyn Host,
        session: Option<&Session>,
        event: &Event,
        record: &mut Record,
        verdict: &mut Verdict,
        part: Part,
    ) {
        if let Some(state) = self.places.state.as_ref().filter(|_| part == Part::First) {
            // Where nobody would be told, they wait for a session in which somebody is.
            if record.event == EventKind::SessionStart && host.can_warn(&record.event) {
                record.alarms.extend(alarms::take(state));
            }
            if let Some(alarm) = session.and_then(|session| call_alarm(session, event, record)) {
                // `verify` and `doctor` find it in the journal in any case.
                let _ = alarms::raise(state, &alarm);
                record.alarms.push(alarm);
            }
        }
        for alarm in &record.alarms {
            // What is off is the person's to put right, where they can be told.
            if alarm.kind != AlarmKind::HooksOff || record.event != EventKind::SessionStart {
                verdict.add_context(Some(alarm.text.clone()));
            }
            verdict.warnings.push(alarm.text.clone());
        }
    }

    /// Finds what an event would meet, without running or writing anything.
    pub fn look(&self, event: &Event) -> Scene {
        self.scene(self.known_roots(event), &event.work_dir, Reading::All)
    }

    /// Finds what an event will meet that holds more texts than were read of it.
    pub(crate) fn peek<'event>(
        &self,
        roots: Roots,
        event: &'event Event,
        leaves: &OnceCell<Leaves<'event>>,
    ) -> Scene {
        self.meet(roots, event, self.by_index, leaves)
    }

    /// Fills in where an event happens, on which the forms of its paths depend.
    pub(crate) fn set_place(&self, event: &mut Event, root: Option<&Path>) {
        if let Some(tool) = &mut event.tool {
            event.home.clone_from(&self.places.home);
            if event.project_dir.as_deref() != root {
                tool.forms.forget();
            }
        }
        event.project_dir = root.map(Path::to_owned);
    }

    /// Tells whether guards may have a say in an event that are not among what it meets: as its
    /// session remembers them.
    pub(crate) fn may_be_remembered(&self, event: &Event, scene: &Scene) -> bool {
        let (Some(session), Some(state)) = (self.session(event), &self.places.state) else {
            return false;
        };
        session_guards::may_differ(session.folder(), self.stamp(scene, state))
    }

    /// Returns what tells one state of the installed hooks from another.
    fn stamp(&self, scene: &Scene, state: &Path) -> Option<u64> {
        let is_read = !self.by_index && scene.installed.notes.is_empty();
        let of_read = || is_read.then(|| session_guards::stamp_of(&scene.installed, state));
        scene.stamp.or_else(of_read)
    }

    /// Returns the project roots without pinning one.
    pub(crate) fn known_roots(&self, event: &Event) -> Roots {
        let named = event.project_dir.clone();
        match self.session(event).and_then(|session| session.pinned()) {
            Some(pinned) => with_named(pinned, named),
            None => self.unpinned(event, named),
        }
    }

    /// Returns the project root as the event alone tells it: the host's, else the repository.
    fn unpinned(&self, event: &Event, named: Option<PathBuf>) -> Roots {
        let repository = || find_root(&event.work_dir, self.places.home.as_deref());
        Roots { pinned: named.clone().or_else(repository), earlier: None, named }
    }

    /// Runs hooks apart from all that is installed, waiting for those that are async, too; nothing
    /// is remembered or journaled.
    pub fn run_apart(
        &self,
        host: &dyn Host,
        installed: &Installed,
        event: Event,
        environment: &[(OsString, OsString)],
    ) -> Finished {
        Dispatch::new(host, Plan::new(installed, &event), event).drive(|step| match step {
            Step::Run(due) | Step::Detach(due) => self.run(due, None, environment),
            Step::Done => RunResult::not_started("it is over"),
        })
    }

    fn session(&self, event: &Event) -> Option<Session> {
        let state = self.places.state.as_deref()?;
        event.session.as_deref().map(|id| Session::new(state, &event.host, id))
    }

    /// Returns the project roots: the pinned one, else the host's, else the repository; and what the
    /// event itself names.
    fn roots(
        &self,
        event: &Event,
        named: Option<PathBuf>,
        session: Option<&Session>,
        trouble: &mut Option<io::Error>,
    ) -> Roots {
        if let Some(pinned) = session.and_then(Session::pinned) {
            return with_named(pinned, named);
        }
        let roots = self.unpinned(event, named);
        let (Some(session), Some(root)) = (session, &roots.pinned) else { return roots };
        match session.pin_root(root) {
            Ok(pinned) => with_named(pinned, roots.named),
            Err(error) => {
                *trouble = Some(error);
                roots
            }
        }
    }

    /// Finds the hooks of an event: by the index, or by reading them.
    fn meet<'event>(
        &self,
        roots: Roots,
        event: &'event Event,
        by_index: bool,
        leaves: &OnceCell<Leaves<'event>>,
    ) -> Scene {
        if !by_index {
            return self.scene(roots, &event.work_dir, Reading::WhatMayRun);
        }
        let Met { installed, journal, stamp } = index::meet(&self.places, &roots, event, leaves);
        if let Some(journal) = journal {
            let _ = self.journal_settings.set(journal);
        }
        Scene { root: roots.pinned.clone(), roots, installed, stamp }
    }

    fn scene(&self, roots: Roots, work_dir: &Path, reading: Reading) -> Scene {
        let installed = Installed::find_in(&self.places, &roots, work_dir, reading);
        Scene { root: roots.pinned.clone(), roots, installed, stamp: None }
    }

    /// Makes the command of a hook whose turn has come.
    fn command(&self, due: &Due<'_>, more: &[(OsString, OsString)]) -> Option<Command> {
        let Due { hook, event, spelling } = due;
        let entry = hook.entry.as_ref()?;
        let root = hook.root.as_deref().or(event.project_dir.as_deref());
        let work_dir = nearest_existing(root.unwrap_or(&event.work_dir));
        let inherits = Inherits::of(hook);
        let mut environment = match &inherits {
            Inherits::Clean(named) => of_guard(&self.places, named),
            Inherits::All | Inherits::AllButCode => Vec::new(),
        };
        environment.reserve(10 + more.len());
        let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
        let text = |value: &str| OsString::from(shorten(&value.replace('\0', ""), VARIABLE_LIMIT));
        set("ANYHOOK_EVENT", text(event.kind.name(*spelling)));
        set("ANYHOOK_HOOK_NAME", text(hook.name()));
        set("ANYHOOK_HOOK_DIR", hook.runs_from.clone().into());
        set("ANYHOOK_PROJECT_DIR", work_dir.clone().into());
        set("ANYHOOK_SESSION_ID", text(event.session.as_deref().unwrap_or("")));
        set("ANYHOOK_HOST", text(&event.host));
        if let Some(binary) = self.binary() {
            set("ANYHOOK_BIN", binary.into());
        }
        set("CLAUDE_PROJECT_DIR", work_dir.clone().into());
        if let Some(tool) = &event.tool {
            set("ANYHOOK_TOOL", text(&tool.name));
        }
        environment.extend_from_slice(more);
        Some(Command::new(entry, work_dir, inherits, environment))
    }

    /// Makes a hook whose turn has come ready to be started, for a driver that does it itself.
    pub fn prepare(&self, due: &Due<'_>, left: Option<Duration>) -> Result<Prepared, RunResult> {
        self.prepare_with(due, left, &[])
    }

    fn prepare_with(
        &self,
        due: &Due<'_>,
        left: Option<Duration>,
        more: &[(OsString, OsString)],
    ) -> Result<Prepared, RunResult> {
        let Some(command) = self.command(due, more) else {
            return Err(RunResult::not_started("there is nothing to run"));
        };
        let timeout = Duration::from_millis(due.hook.definition.timeout_ms);
        let limit = left.map_or(timeout, |left| left.min(timeout));
        if limit.is_zero() {
            return Err(RunResult::not_started("the caller's deadline has passed"));
        }
        Ok(Prepared { command, input: due.input(), limit })
    }

    fn run(
        &self,
        due: &Due<'_>,
        left: Option<Duration>,
        more: &[(OsString, OsString)],
    ) -> RunResult {
        match self.prepare_with(due, left, more) {
            Ok(Prepared { command, input, limit }) => self.runner.run(&command, &input, limit),
            Err(result) => result,
        }
    }

    /// Starts a hook that runs aside.
    fn detach(&self, due: &Due<'_>, of: &RecordId, scene: &Scene) -> RunResult {
        let began = Instant::now();
        if let Some(signal) = self.interrupted() {
            return RunResult {
                outcome: Outcome::Interrupted(signal),
                ..RunResult::not_started("")
            };
        }
        let Some(command) = self.command(due, &[]) else {
            return RunResult::not_started("there is nothing to run");
        };
        let job = detached::Job {
            command,
            input: due.input(),
            limit_ms: due.hook.definition.timeout_ms,
            stdout: due.hook.definition.stdout,
            state: self.places.state.clone().map(PathBuf::into_os_string),
            journal: Settings::load(&self.places, None).journal,
            record: Self::record_of_aside(due, of, scene),
        };
        let Some(binary) = self.binary() else {
            return RunResult::not_started("there is no program to look after it");
        };
        match detached::launch(binary, &job) {
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

    /// Begins the record of a hook that runs aside; its outcome is still to come.
    pub fn record_of_aside(due: &Due<'_>, of: &RecordId, scene: &Scene) -> Record {
        let event = Event {
            raw: serde_json::Map::new(),
            context: serde_json::Map::new(),
            ..due.event.clone()
        };
        let runs = vec![run_record(due.hook, Said::default(), None)];
        let outcome = Finished { runs, ..Finished::of(event) };
        let id = new_id();
        let (_, event, mut record) = finish(id, outcome, Duration::ZERO);
        record.about = about(&event, &[]);
        record.of = Some(of.clone());
        record.project_dir = scene.root.as_ref().map(|root| root.to_string_lossy().into_owned());
        *record
    }
}

/// Tells whether a hook stops what it cannot decide; `for_tools` is for tool calls only.
fn is_guard(standing: &Standing, for_tools: bool) -> bool {
    let hook = &standing.hook;
    let triggers = &hook.definition.triggers;
    let is_for_tools = || triggers.iter().any(|trigger| trigger.kind.takes_input_change());
    standing.out.is_none()
        && (!for_tools || is_for_tools())
        && hook.blocks_on_failure()
        && hook.definition.mode == Mode::Enforce
}

/// Denies a call that a guard did not see as it is: one that blocks on failure must not be passed by.
fn deny_doubtful(scene: &Scene, finished: &mut Finished) {
    let event = &finished.event;
    let Some(doubt) = event.doubt.filter(|_| event.kind.takes_input_change()) else { return };
    if finished.verdict.is_block() {
        return;
    }
    let plan = Plan::new(&scene.installed, event);
    let guard = plan.steps.iter().find(|step| {
        let definition = &step.hook.definition;
        let decides = definition.mode == Mode::Enforce && !definition.is_async;
        // A guard that took the call although it has no name has decided about it.
        let was_passed = doubt != Doubt::Unnamed || step.mismatch(event).is_some();
        decides && step.hook.blocks_on_failure() && was_passed
    });
    if let Some(guard) = guard {
        let name = guard.hook.name();
        finished.verdict.effect = Some(Effect::Deny);
        finished.verdict.reason = Some(format!(
            "{doubt}, so hook {name} could not judge the call, and must not be passed by"
        ));
        finished.verdict.by = Some(name.to_owned());
        finished.verdict.input = None;
        finished.verdict.native_input = None;
    }
}

/// Has the answers to an agent's questions reach it, as a part of the call's input.
fn answer_questions(
    host: &dyn Host,
    event: &Event,
    answers: &[QuestionAnswer],
    verdict: &mut Verdict,
) {
    let Some(tool) = &event.tool else { return };
    let mut input = tool.input.as_object().cloned().unwrap_or_default();
    input.extend(host.answered(answers));
    match host.native_input(tool, &input) {
        Ok(native) => (verdict.input, verdict.native_input) = (Some(input), native),
        Err(why) => {
            // Without its answers the call must not be allowed: the agent would take none for one.
            verdict.effect = None;
            verdict.warnings.push(format!("the answers cannot be given to the agent: {why}"));
        }
    }
}

/// Tells whether what is said at an event reaches somebody.
fn can_tell(host: &dyn Host, kind: &EventKind) -> bool {
    is_heard(kind) && host.can_warn(kind)
}

/// Tells whether an event is one of those at which agents take in what they are told.
fn is_heard(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::SessionStart
            | EventKind::BeforeAgent
            | EventKind::BeforeTool
            | EventKind::AfterTool
            | EventKind::AfterToolFailure
    )
}

/// Returns the alarm about the call of an event, if there is one: it ran although it was denied, or
/// although nobody was asked.
fn call_alarm(session: &Session, event: &Event, record: &mut Record) -> Option<Alarm> {
    if !matches!(record.event, EventKind::AfterTool | EventKind::AfterToolFailure) {
        return None;
    }
    let calls = [&record.call, &record.call_digest].into_iter().flatten();
    let denied = calls.into_iter().find_map(|call| session.denied_by(call));
    let about =
        |about: Option<String>| about.map(|about| shorten(&without_secrets(about), ABOUT_LIMIT));
    if let Some(denied) = denied.filter(|_| record.event == EventKind::AfterTool) {
        let denied = RecordId::from_text(denied);
        record.denied_by = Some(denied.clone());
        let mut ran = RanAnyway::of(record, denied);
        ran.about = about(ran.about);
        return Some(alarms::ran_anyway(&ran));
    }
    let call = record.call.as_deref().filter(|_| is_known_before(event))?;
    if session.was_asked(call) != Some(false) {
        return None;
    }
    let tool = record.tool.as_deref().unwrap_or_default();
    let what = format!("{tool} {}", about(record.about.clone()).unwrap_or_default());
    Some(alarms::ran_unasked(&record.host, what.trim(), &record.id))
}

/// Tells whether a call that ran is known by the same name as when it was asked about.
fn is_known_before(event: &Event) -> bool {
    let Some(tool) = &event.tool else { return false };
    // Without an id, it is known by its input: a person may have edited what is written to a file,
    // and a call that follows from another one's result is not the model's.
    tool.use_id.is_some()
        || (tool.name == "Shell"
            && tool.input.is_object()
            && !event.raw.contains_key("original_request_name"))
}

/// Returns the roots of an event in a session.
fn with_named(pinned: Pinned, named: Option<PathBuf>) -> Roots {
    Roots { pinned: Some(pinned.root), earlier: pinned.real, named }
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
    counted: &mut Object,
    state: Option<&Path>,
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
                    index::forget_old(state, SystemTime::now());
                    failure_streak::forget_old(state, SystemTime::now());
                    guard_marker::forget_gone(state);
                }
                session.begin_turn()
            }
            // A subagent's prompt is part of the turn that started it.
            EventKind::BeforeAgent if event.agent.is_none() => session.begin_turn(),
            _ => Ok(()),
        }
    })();
    let mut fill = |name: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|_| event.data.get(name).is_none_or(Value::is_null)) {
            counted.insert(name.to_owned(), value.clone());
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

/// Parts a finished dispatch into its verdict, its event, and the record, still without the verdict.
fn finish(id: RecordId, finished: Finished, took: Duration) -> (Verdict, Event, Box<Record>) {
    let Finished { verdict, event, runs, skipped, more_skipped, other_events } = finished;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut record = Box::new(Record::new(id, now(), &event.host, event.kind.clone()));
    record.native_name.clone_from(&event.native_name);
    record.session.clone_from(&event.session);
    record.agent.clone_from(&event.agent);
    record.work_dir = text(&event.work_dir);
    record.project_dir = event.project_dir.as_deref().map(text);
    record.tool = event.tool.as_ref().map(|tool| tool.name.clone());
    record.runs = runs;
    record.skipped = skipped;
    record.more_skipped = more_skipped;
    record.other_events = other_events;
    record.took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    (verdict, event, record)
}

/// What a tool call is known by.
#[derive(Debug, Default)]
struct CallName {
    /// The host's id, else the digest.
    call: Option<String>,
    /// The digest, beside an id.
    digest: Option<String>,
}

impl CallName {
    fn of(event: &Event) -> Self {
        let Some(tool) = &event.tool else { return Self::default() };
        // For a call that has an id, the digest is no more than a help: not for large inputs.
        let mut size = 0;
        let is_large = any_leaf(&tool.input, &mut |leaf| {
            size += leaf.len();
            size > DIGEST_LIMIT
        });
        let digest = || {
            let text = format!("{}\n{}", tool.name, to_spaced(&tool.input));
            format!("{DIGEST}{}", hex(&sha256(text.as_bytes())[..16]))
        };
        match &tool.use_id {
            Some(id) => Self { call: Some(id.clone()), digest: (!is_large).then(digest) },
            None => Self { call: Some(digest()), digest: None },
        }
    }
}

/// Makes an id for a record, a run, or whatever else needs one.
pub fn new_id() -> RecordId {
    RecordId::from_random(random_bits())
}

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
    let mut event = event.clone();
    event.project_dir.clone_from(&scene.root);
    let event = &event;
    let plan = Plan::new(&scene.installed, event);
    let mut due: Vec<_> = plan
        .steps
        .iter()
        .map(|step| (step.hook, step.spelling, step.mismatch(event).map_or(Ok(()), Err)))
        .collect();
    due.extend(plan.skipped.into_iter().map(|(hook, why)| (hook, Spelling::Canonical, Err(why))));
    due
}
