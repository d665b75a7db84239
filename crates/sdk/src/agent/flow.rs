//! The phases of a run: blocking pre-hooks, background pre-hooks, the agent, blocking post-hooks,
//! background post-hooks.

use std::sync::Arc;
use std::time::Instant;

use anyhook_engine::new_id;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;

use super::agent_loop::{Loop, LoopError, Sink};
use super::hook::{After, HookContext, PostHook, PreHook};
use super::live::{LiveAgentCenter, ResolvedAgent};
use super::message::Message;
use super::run::{Run, RunError, RunStatus};
use super::session::SessionContext;
use crate::call::{CallError, guarded};
use crate::function::HookError;
use crate::metrics::{HookOutcome, Metrics};

/// Cancels runs: pass a clone to a [`RunRequest`] and keep one.
#[derive(Clone, Debug)]
pub struct Cancel {
    sender: Arc<watch::Sender<bool>>,
}

impl Default for Cancel {
    fn default() -> Self {
        Self { sender: Arc::new(watch::channel(false).0) }
    }
}

impl Cancel {
    /// Cancels every run that has a clone of this.
    pub fn cancel(&self) {
        self.sender.send_replace(true);
    }

    /// Waits until it is cancelled.
    pub async fn cancelled(&self) {
        let mut receiver = self.sender.subscribe();
        // The sender lives as long as we do.
        let _ = receiver.wait_for(|cancelled| *cancelled).await;
    }
}

/// What to run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunRequest {
    /// The session, which names the agent.
    pub session: SessionContext,
    /// The user's message.
    pub message: String,
    /// Whether the model is given the earlier messages of this session.
    pub load_history: bool,
    /// Ends the run early.
    pub cancel: Cancel,
    /// The JSON Schema that the answer must satisfy, if the model is given one.
    pub answer_schema: Option<Value>,
    /// An interrupted run to resume.
    pub resume: Option<Box<Run>>,
}

impl RunRequest {
    /// Requests a run without history.
    pub fn new(session: SessionContext, message: impl Into<String>) -> Self {
        Self {
            session,
            message: message.into(),
            load_history: false,
            cancel: Cancel::default(),
            answer_schema: None,
            resume: None,
        }
    }

    /// Requests to resume an interrupted run: cancelled, out of steps, or without an answer.
    pub fn resume(run: Run) -> Self {
        let message = run.messages.iter().find_map(|message| match message {
            Message::User { text } => Some(text.clone()),
            _ => None,
        });
        let request = Self::new(run.session.clone(), message.unwrap_or_default());
        Self { resume: Some(Box::new(run)), ..request }
    }

    /// Gives the model the earlier messages of this session.
    pub fn load_history(mut self) -> Self {
        self.load_history = true;
        self
    }

    /// Allows the run to be ended early.
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }
}

impl LiveAgentCenter {
    /// Runs an agent and reads its answer as a value of a type, from the model's JSON.
    pub async fn run_as<T>(&self, mut request: RunRequest) -> Result<(T, Run), RunError>
    where
        T: DeserializeOwned + schemars::JsonSchema,
    {
        request.answer_schema = Some(schemars::schema_for!(T).to_value());
        let run = self.run(request).await?;
        Ok((run.parse()?, run))
    }

    /// Runs an agent.
    pub async fn run(&self, request: RunRequest) -> Result<Run, RunError> {
        self.run_into(request, &mut Sink::Nobody).await
    }

    /// Runs an agent; its output goes to `sink` as it comes.
    pub(super) async fn run_into(
        &self,
        request: RunRequest,
        sink: &mut Sink,
    ) -> Result<Run, RunError> {
        let unknown = || RunError::UnknownAgent(request.session.agent_id.clone());
        let cast = self.cast(&request.session.agent_id).ok_or_else(unknown)?;
        let mut context = HookContext::new(
            (*cast.agent).clone(),
            request.session.clone(),
            request.message.clone(),
        );
        self.pre_hooks(&cast, &mut context).await?;
        let history = if request.load_history {
            let loaded = self.settings.history.load(&request.session).await;
            loaded.map_err(RunError::History)?
        } else {
            Vec::new()
        };
        let mut run = match request.resume {
            Some(run) => Run { status: RunStatus::Running, ..*run },
            None => {
                Run { id: new_id().to_string(), session: request.session.clone(), ..Run::default() }
            }
        };
        let began = Instant::now();
        let work = Loop { center: self, cast: &cast, schema: request.answer_schema, history };
        let ended = tokio::select! {
            // First: a run that is cancelled before it starts calls nothing.
            biased;
            () = request.cancel.cancelled() => Err(EarlyEnd::Cancelled),
            ended = work.run(&context, &mut run, sink) => ended.map_err(EarlyEnd::Failed),
        };
        run.duration += began.elapsed();
        run.metadata = context.metadata.clone();
        match ended {
            Ok(()) => {
                run.status = RunStatus::Completed;
                self.post_hooks(&cast, &context, run, After::Success).await
            }
            Err(ended) => {
                let error = ended.into_error(&mut run);
                // A hook's error about a failure does not replace the failure.
                let _ = self.post_hooks(&cast, &context, run, After::Failure).await;
                Err(error)
            }
        }
    }

    /// Runs the blocking pre-hooks one after another, then starts the others.
    async fn pre_hooks(
        &self,
        cast: &ResolvedAgent,
        context: &mut HookContext,
    ) -> Result<(), RunError> {
        let is_aside = |hook: &PreHook| {
            !hook.guardrail && (!hook.config.blocking || self.settings.all_in_background)
        };
        for hook in cast.pre_hooks.iter().filter(|hook| !is_aside(hook)) {
            run_pre_hook(hook, context, &self.metrics)
                .await
                .map_err(|error| RunError::PreHook { hook: hook.config.name.clone(), error })?;
        }
        for hook in cast.pre_hooks.iter().filter(|hook| is_aside(hook)) {
            let (hook, mut context, metrics) =
                (hook.clone(), context.clone(), self.metrics.clone());
            self.start(&hook.config.name.clone(), async move {
                run_pre_hook(&hook, &mut context, &metrics).await
            });
        }
        Ok(())
    }

    /// Runs the blocking post-hooks one after another, stores the messages, then starts the others.
    async fn post_hooks(
        &self,
        cast: &ResolvedAgent,
        context: &HookContext,
        mut run: Run,
        after: After,
    ) -> Result<Run, RunError> {
        let is_aside = |hook: &PostHook| {
            !hook.guardrail && (!hook.config.blocking || self.settings.all_in_background)
        };
        let is_due = |hook: &&PostHook| hook.after == After::Either || hook.after == after;
        let said = run.output.clone();
        for hook in cast.post_hooks.iter().filter(is_due).filter(|hook| !is_aside(hook)) {
            if let Err(error) = run_post_hook(hook, context, &mut run, &self.metrics).await {
                let hook = hook.config.name.clone();
                return Err(RunError::PostHook { hook, error, run: Box::new(run) });
            }
        }
        if after == After::Success {
            if said != run.output {
                replace_last_answer(&mut run);
            }
            let kept = self.settings.history.append(&run.session, &run.messages).await;
            kept.map_err(RunError::History)?;
        }
        for hook in cast.post_hooks.iter().filter(is_due).filter(|hook| is_aside(hook)) {
            let (hook, context, mut run, metrics) =
                (hook.clone(), context.clone(), run.clone(), self.metrics.clone());
            self.start(&hook.config.name.clone(), async move {
                run_post_hook(&hook, &context, &mut run, &metrics).await
            });
        }
        Ok(run)
    }

    /// Starts a hook in the background; its failure is logged and changes nothing.
    fn start(
        &self,
        name: &str,
        hook: impl Future<Output = Result<(), HookError>> + Send + 'static,
    ) {
        let name = name.to_owned();
        let started = self.background.spawn({
            let name = name.clone();
            async move {
                if let Err(error) = hook.await {
                    tracing::warn!(hook = %name, %error, "a hook in the background failed");
                }
            }
        });
        if let Err(full) = started {
            tracing::warn!(hook = %name, error = %full, "a hook could not be started");
        }
    }
}

/// Why a run ended early.
enum EarlyEnd {
    Cancelled,
    Failed(LoopError),
}

impl EarlyEnd {
    /// Records it in the run, and makes the error that carries the run.
    fn into_error(self, run: &mut Run) -> RunError {
        run.status = match &self {
            Self::Cancelled => RunStatus::Cancelled,
            Self::Failed(error) => RunStatus::Failed(error.to_string()),
        };
        let finished = Box::new(run.clone());
        match self {
            Self::Cancelled => RunError::Cancelled { run: finished },
            Self::Failed(LoopError::Blocked(reason)) => RunError::Blocked(reason),
            #[cfg(feature = "mcp")]
            Self::Failed(LoopError::McpServer { server, why }) => {
                RunError::McpServer { server, why }
            }
            Self::Failed(LoopError::Stopped(stopped)) => {
                RunError::Stopped { hook: stopped.hook, reason: stopped.reason, run: finished }
            }
            Self::Failed(LoopError::ModelHook { hook, error }) => {
                RunError::ModelHook { hook, error, run: finished }
            }
            Self::Failed(LoopError::Model(error)) => RunError::Model { error, run: finished },
            Self::Failed(LoopError::TooManySteps(limit)) => {
                RunError::TooManySteps { limit, run: finished }
            }
        }
    }
}

/// Runs a pre-hook: a panic or a timeout is its failure.
async fn run_pre_hook(
    hook: &PreHook,
    context: &mut HookContext,
    metrics: &Metrics,
) -> Result<(), HookError> {
    let began = Instant::now();
    let ended = call_pre_hook(hook, context).await;
    count(ended, &hook.config.name, "pre", began, metrics)
}

/// The result of calling a hook; `None` if its condition does not hold.
pub(super) type HookCallResult = Result<Option<Result<(), HookError>>, CallError>;

/// Calls a pre-hook. Its condition may panic, too.
pub(super) async fn call_pre_hook(hook: &PreHook, context: &mut HookContext) -> HookCallResult {
    guarded(hook.timeout, || async {
        if hook.condition.as_ref().is_some_and(|condition| !condition(context)) {
            return None;
        }
        Some((hook.function)(context).await)
    })
    .await
}

/// Calls a post-hook. Its condition may panic, too.
pub(super) async fn call_post_hook(
    hook: &PostHook,
    context: &HookContext,
    run: &mut Run,
) -> HookCallResult {
    guarded(hook.timeout, || async {
        if hook.condition.as_ref().is_some_and(|condition| !condition(context, run)) {
            return None;
        }
        Some((hook.function)(context, run).await)
    })
    .await
}

/// Runs a post-hook: a panic or a timeout is its failure.
async fn run_post_hook(
    hook: &PostHook,
    context: &HookContext,
    run: &mut Run,
    metrics: &Metrics,
) -> Result<(), HookError> {
    let began = Instant::now();
    let ended = call_post_hook(hook, context, run).await;
    count(ended, &hook.config.name, "post", began, metrics)
}

/// Counts how a hook ended; one whose condition does not hold is not counted.
pub(super) fn count(
    ended: HookCallResult,
    hook: &str,
    kind: &'static str,
    began: Instant,
    metrics: &Metrics,
) -> Result<(), HookError> {
    let (outcome, result) = match ended {
        Ok(None) => return Ok(()),
        Ok(Some(Ok(()))) => (HookOutcome::Ok, Ok(())),
        Ok(Some(Err(error))) => (HookOutcome::Error, Err(error)),
        Err(error @ CallError::Panicked(_)) => {
            (HookOutcome::Panicked, Err(HookError::new(error.to_string())))
        }
        Err(error @ CallError::TimedOut(_)) => {
            (HookOutcome::TimedOut, Err(HookError::new(error.to_string())))
        }
    };
    metrics.record(hook, kind, outcome, began.elapsed());
    result
}

/// Copies an output that a hook has changed into the conversation.
fn replace_last_answer(run: &mut Run) {
    let output = run.output.clone();
    if let Some(Message::Assistant { text, .. }) =
        run.messages.iter_mut().rev().find(|message| matches!(message, Message::Assistant { .. }))
    {
        *text = output;
    }
}
