//! The asynchronous driver: dispatches an event to functions and HOOK.md hooks, in one order.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhook_engine::dispatch::{Dispatch, DispatchStep, DueHook, RunResult};
use anyhook_engine::engine::{OpenedEvent, PreparedScript};
use anyhook_engine::plan::DispatchPlan;
use anyhook_engine::run::detached;
use anyhook_engine::{Engine, Hook, Level, Places};
use anyhook_model::tools::also_known_as;
use anyhook_model::{
    Decision, Event, OpenFormat, Payload, Record, RunOutcome, SkipReason, Spelling, StdoutUse,
    Verdict,
};

use crate::background::{Background, MOST};
use crate::call::{CallError, guarded};
use crate::function::{Function, FunctionHook, HookError};
use crate::seen::SeenEvent;

/// Why hooks could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two functions have the same name.
    #[error("two hooks are named `{0}`")]
    DuplicateName(String),
    /// A hook has no name.
    #[error("a hook has no name")]
    NoName,
    /// A function has no events, so it would never be called.
    #[error("the hook `{0}` has no trigger")]
    NoEvent(String),
    /// An expression of a matcher is wrong.
    #[error("the hook `{hook}` has an invalid matcher: {why}")]
    Matcher {
        /// The hook.
        hook: String,
        /// What is wrong.
        why: String,
    },
}

/// Builds [`Hooks`].
#[derive(Debug)]
#[must_use]
pub struct HooksBuilder {
    agent: String,
    places: Option<Places>,
    work_dir: PathBuf,
    functions: Vec<FunctionHook>,
    journal: bool,
    background: usize,
}

impl HooksBuilder {
    /// Takes HOOK.md hooks, settings, trust and the journal from these places.
    ///
    /// Without places, there are only the functions, and nothing is read or written.
    pub fn places(mut self, places: Places) -> Self {
        self.places = Some(places);
        self
    }

    /// Sets the folder the agent works in; the current one by default.
    pub fn work_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.work_dir = folder.into();
        self
    }

    /// Adds a function.
    pub fn hook(mut self, hook: FunctionHook) -> Self {
        self.functions.push(hook);
        self
    }

    /// Writes nothing to the journal.
    pub fn without_journal(mut self) -> Self {
        self.journal = false;
        self
    }

    /// Sets how many hooks may run in the background at once; 1,024 by default. More than that
    /// fail.
    pub fn background_hooks(mut self, most: usize) -> Self {
        self.background = most;
        self
    }

    /// Checks everything and builds the hooks.
    pub fn build(self) -> Result<Hooks, BuildError> {
        let mut functions = HashMap::new();
        let mut hooks = Vec::with_capacity(self.functions.len());
        for function in self.functions {
            let name = function.name().to_owned();
            if name.is_empty() {
                return Err(BuildError::NoName);
            }
            if function.definition.triggers.is_empty() {
                return Err(BuildError::NoEvent(name));
            }
            let hook = Hook::of_program(function.definition)
                .map_err(|why| BuildError::Matcher { hook: name.clone(), why })?;
            if functions.insert(name.clone(), function.function).is_some() {
                return Err(BuildError::DuplicateName(name));
            }
            hooks.push(hook);
        }
        let shared = HooksInner {
            agent: self.agent,
            places: self.places,
            work_dir: self.work_dir,
            functions,
            hooks,
            journal: self.journal,
        };
        Ok(Hooks { shared: Arc::new(shared), background: Background::new(self.background) })
    }
}

/// The hooks of an agent. Share it with [`Arc`].
#[derive(Debug)]
pub struct Hooks {
    shared: Arc<HooksInner>,
    background: Background,
}

struct HooksInner {
    agent: String,
    places: Option<Places>,
    work_dir: PathBuf,
    functions: HashMap<String, Arc<Function>>,
    hooks: Vec<Hook>,
    journal: bool,
}

impl std::fmt::Debug for HooksInner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HooksInner")
            .field("agent", &self.agent)
            .field("functions", &self.functions.keys())
            .finish_non_exhaustive()
    }
}

/// A hook in a plan: which hooks would be asked, in which order, and which not and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedHook {
    /// The hook's name.
    pub name: String,
    /// `managed`, `user`, `project`, or `program` for a function.
    pub level: &'static str,
    /// Its priority.
    pub priority: u16,
    /// Why it would not be asked; `None` if it would.
    pub left_out: Option<SkipReason>,
}

/// What the driver does next, without borrowing from the dispatch.
enum DriverTurn {
    Call(Arc<Function>, SeenEvent, Duration),
    Run(PreparedScript),
    Aside(Box<Record>, BackgroundRun),
    Failed(RunResult),
}

/// What runs in the background.
enum BackgroundRun {
    Call(Arc<Function>, SeenEvent, Duration),
    Run(PreparedScript, StdoutUse),
}

impl Hooks {
    /// Starts to build the hooks of an agent; its name is the host in the journal.
    pub fn builder(agent: impl Into<String>) -> HooksBuilder {
        HooksBuilder {
            agent: agent.into(),
            places: None,
            work_dir: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            functions: Vec::new(),
            journal: true,
            background: MOST,
        }
    }

    pub(crate) fn agent(&self) -> &str {
        &self.shared.agent
    }

    pub(crate) fn work_dir(&self) -> &Path {
        &self.shared.work_dir
    }

    /// Dispatches an event to the hooks that apply to it.
    pub async fn dispatch(&self, mut event: Event) -> Verdict {
        event.host.clone_from(&self.shared.agent);
        if let Some(tool) = &mut event.tool {
            // Hooks for `Shell` are asked about any tool that runs a command.
            tool.also = also_known_as(&tool.name, &tool.input);
        }
        let payload = Payload::new(event.to_json(Spelling::Canonical).as_bytes());
        let began = Instant::now();
        let (engine, opened, event) = self.open(event).await;
        let mut dispatch =
            Dispatch::new(&OpenFormat, DispatchPlan::new(&opened.hooks.installed, &event), event);
        loop {
            let turn = match dispatch.next_step() {
                DispatchStep::Done => break,
                DispatchStep::Run(due) => self.turn(&engine, &due),
                DispatchStep::Detach(due) => self.aside(&engine, &due, &opened),
            };
            match turn {
                DriverTurn::Call(function, event, limit) => {
                    let began = Instant::now();
                    let (said, outcome) = call(&*function, event, limit).await;
                    dispatch.feed_decision(said, outcome, began.elapsed());
                }
                DriverTurn::Run(prepared) => {
                    let run = move || prepared.run();
                    let result = tokio::task::spawn_blocking(run).await;
                    // Only a runtime that shuts down runs nothing.
                    dispatch.feed(result.unwrap_or_else(|error| {
                        RunResult::not_started(format!("the runtime is shutting down: {error}"))
                    }));
                }
                DriverTurn::Aside(record, aside) => {
                    let result = self.start_aside(*record, aside, began);
                    dispatch.feed(result);
                }
                DriverTurn::Failed(result) => dispatch.feed(result),
            }
        }
        let finished = dispatch.finish();
        let writes = self.shared.journal && self.shared.places.is_some();
        self.shared
            .off_the_runtime(move || {
                let mut dispatched = engine.close(&OpenFormat, opened, finished, payload);
                engine.remember_call(&dispatched.event, &dispatched.record, &dispatched.verdict);
                let written = if writes {
                    engine.journal_with(vec![*dispatched.record], &dispatched.settings)
                } else {
                    Ok(())
                };
                if let Err(error) = written {
                    let warning = format!("the journal cannot be written: {error}");
                    dispatched.verdict.warnings.push(warning);
                }
                dispatched.verdict
            })
            .await
    }

    /// Returns which hooks would be asked about an event, in which order, and which not and why.
    /// Calls none.
    pub async fn explain(&self, mut event: Event) -> Vec<PlannedHook> {
        event.host.clone_from(&self.shared.agent);
        let shared = self.shared.clone();
        let explain = move || {
            let mut hooks = shared.engine().hooks_for(&event);
            hooks.installed.add(shared.hooks.iter().cloned());
            let planned = anyhook_engine::explain(&hooks, &event).into_iter();
            planned
                .map(|(hook, _, due)| PlannedHook {
                    name: hook.name().to_owned(),
                    level: hook.level.word(),
                    priority: hook.definition.priority,
                    left_out: due.err(),
                })
                .collect()
        };
        self.shared.off_the_runtime(explain).await
    }

    /// Returns the background tasks.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Waits until no hook runs in the background any more: for an orderly shutdown of the program.
    pub async fn wait_for_background_hooks(&self) {
        self.background.wait().await;
    }

    /// Cancels all hooks that run in the background. A script among them continues to its end or
    /// its time limit.
    pub fn cancel_background_hooks(&self) {
        self.background.cancel();
    }

    /// Reads the files, on a thread that may block.
    async fn open(&self, mut event: Event) -> (Engine, OpenedEvent, Event) {
        let shared = self.shared.clone();
        let open = move || {
            let engine = shared.engine();
            let mut opened = engine.open(&mut event);
            opened.hooks.installed.add(shared.hooks.iter().cloned());
            (engine, opened, event)
        };
        self.shared.off_the_runtime(open).await
    }

    fn turn(&self, engine: &Engine, due: &DueHook<'_>) -> DriverTurn {
        if let Some(function) = self.shared.function(due.hook) {
            return DriverTurn::Call(function, seen(due), limit(due.hook));
        }
        match engine.prepare(due, None) {
            Ok(prepared) => DriverTurn::Run(prepared),
            Err(result) => DriverTurn::Failed(result),
        }
    }

    fn aside(&self, engine: &Engine, due: &DueHook<'_>, opened: &OpenedEvent) -> DriverTurn {
        let record = || Box::new(Engine::background_record(due, opened.id()));
        if let Some(function) = self.shared.function(due.hook) {
            return DriverTurn::Aside(
                record(),
                BackgroundRun::Call(function, seen(due), limit(due.hook)),
            );
        }
        match engine.prepare(due, None) {
            Ok(prepared) => DriverTurn::Aside(
                record(),
                BackgroundRun::Run(prepared, due.hook.definition.stdout),
            ),
            Err(result) => DriverTurn::Failed(result),
        }
    }

    /// Starts a background run; it is journaled when it ends.
    fn start_aside(&self, mut record: Record, aside: BackgroundRun, began: Instant) -> RunResult {
        let shared = self.shared.clone();
        let started = self.background.spawn(async move {
            match aside {
                BackgroundRun::Call(function, event, limit) => {
                    let began = Instant::now();
                    let (said, outcome) = call(&*function, event, limit).await;
                    complete(&mut record, said, outcome, began.elapsed());
                }
                BackgroundRun::Run(prepared, stdout) => {
                    let run = move || prepared.run();
                    let Ok(result) = tokio::task::spawn_blocking(run).await else { return };
                    detached::complete(&mut record, stdout, result);
                }
            }
            if shared.journal && shared.places.is_some() {
                // No one listens any more: what failed can only be missing from the journal.
                let write = move || shared.engine().journal(vec![record]);
                let _ = tokio::task::spawn_blocking(write).await;
            }
        });
        match started {
            Ok(()) => RunResult {
                outcome: RunOutcome::Detached,
                took: began.elapsed(),
                ..RunResult::not_started("")
            },
            Err(full) => RunResult::not_started(full.to_string()),
        }
    }
}

impl HooksInner {
    fn engine(&self) -> Engine {
        Engine::new(self.places.clone().unwrap_or_else(nowhere))
    }

    /// Runs blocking file access off the runtime; nothing is read without places, so that a program
    /// with functions only has no overhead.
    async fn off_the_runtime<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        if self.places.is_none() {
            return work();
        }
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Returns the function of a hook, if it has one.
    fn function(&self, hook: &Hook) -> Option<Arc<Function>> {
        (hook.level == Level::Program).then(|| self.functions.get(hook.name()).cloned())?
    }
}

/// Returns places that do not exist.
fn nowhere() -> Places {
    let managed = PathBuf::from("/dev/null/nowhere");
    Places { managed, user: None, state: None, home: None, binary: None }
}

fn seen(due: &DueHook<'_>) -> SeenEvent {
    SeenEvent(Arc::new(due.event.clone()))
}

fn limit(hook: &Hook) -> Duration {
    Duration::from_millis(hook.definition.timeout_ms)
}

/// Calls a function. Any outcome is returned as data.
async fn call(
    function: &Function,
    event: SeenEvent,
    limit: Duration,
) -> (Result<Decision, String>, RunOutcome) {
    match guarded(limit, || function(event)).await {
        Ok(said) => (said.map_err(|error: HookError| error.to_string()), RunOutcome::Returned),
        Err(error) => {
            let outcome = match error {
                CallError::TimedOut(limit) => RunOutcome::TimedOut(limit),
                CallError::Panicked(_) => RunOutcome::Returned,
            };
            (Err(error.to_string()), outcome)
        }
    }
}

/// Completes the record of a function that ran in the background.
fn complete(
    record: &mut Record,
    said: Result<Decision, String>,
    outcome: RunOutcome,
    took: Duration,
) {
    record.took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    if let Some(run) = record.runs.first_mut() {
        run.outcome = Some(outcome);
        run.took_us = record.took_us;
        match said {
            Ok(decision) => run.decision = decision,
            Err(why) => run.failure = Some(why),
        }
    }
}
