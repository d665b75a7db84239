//! Pre- and post-hooks: functions around a run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::compose::is_due;
use super::definition::Agent;
use super::flow::{HookCallResult, call_post_hook, call_pre_hook};
use super::handler::{PostHookFn, PostHookHandler, PreHookFn, PreHookHandler};
use super::run::Run;
use super::session::SessionContext;
use crate::function::{BoxFuture, HookError};

/// A hook's name, and whether the run waits for it.
///
/// Loaded from JSON, it makes a hook together with a function: `PreHook::new(config, function)`.
///
/// ```
/// use anyhook_sdk::HookError;
/// use anyhook_sdk::agent::{Hook, HookContext, PreHook};
///
/// async fn log(context: &mut HookContext) -> Result<(), HookError> {
///     println!("{}", context.user_message);
///     Ok(())
/// }
///
/// let config: Hook = serde_json::from_str(r#"{"name": "logger", "blocking": false}"#)?;
/// let hook = PreHook::new(config, log);
/// assert!(!hook.config().blocking);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// The name by which agents refer to it.
    pub name: String,
    /// Whether the run waits for it, and ends if it fails.
    #[serde(default = "waited_for")]
    pub blocking: bool,
}

fn waited_for() -> bool {
    true
}

impl Hook {
    /// Configures a hook that the run waits for.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), blocking: true }
    }

    /// Makes it one that the run does not wait for.
    pub fn in_background(mut self) -> Self {
        self.blocking = false;
        self
    }
}

impl From<&str> for Hook {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<&String> for Hook {
    fn from(name: &String) -> Self {
        Self::new(name)
    }
}

impl From<String> for Hook {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

/// What a hook sees of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HookContext {
    /// The agent.
    pub agent: Agent,
    /// The session.
    pub session: SessionContext,
    /// The user's message. A blocking pre-hook may rewrite it.
    pub user_message: String,
    /// Data that hooks pass to later ones.
    pub metadata: Map<String, Value>,
}

impl HookContext {
    /// Makes the context that hooks would see for a message to an agent: for testing a hook alone.
    ///
    /// ```
    /// use anyhook_sdk::agent::builtin::max_length;
    /// use anyhook_sdk::agent::{Agent, HookContext, SessionContext};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let hook = max_length("short", 10).pre_hook();
    /// let session = SessionContext::new("assistant", "session-1");
    /// let mut context = HookContext::new(Agent::new("assistant", "model"), session, "far too long");
    /// assert!(hook.execute(&mut context).await.is_err());
    /// # }
    /// ```
    pub fn new(agent: Agent, session: SessionContext, user_message: impl Into<String>) -> Self {
        Self { agent, session, user_message: user_message.into(), metadata: Map::new() }
    }

    /// Adds data, as an earlier hook would.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }
}

pub(crate) type PreFunction =
    dyn for<'a> Fn(&'a mut HookContext) -> BoxFuture<'a, Result<(), HookError>> + Send + Sync;
pub(crate) type PostFunction = dyn for<'a> Fn(&'a HookContext, &'a mut Run) -> BoxFuture<'a, Result<(), HookError>>
    + Send
    + Sync;
pub(crate) type PreCondition = dyn Fn(&HookContext) -> bool + Send + Sync;
pub(crate) type PostCondition = dyn Fn(&HookContext, &Run) -> bool + Send + Sync;

/// A hook's default priority; higher runs first.
pub const PRIORITY_DEFAULT: i32 = 100;
/// A hook's default time limit.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// A function that runs before an agent.
#[derive(Clone)]
pub struct PreHook {
    pub(crate) config: Hook,
    pub(crate) priority: i32,
    pub(crate) timeout: Duration,
    pub(crate) guardrail: bool,
    pub(crate) condition: Option<Arc<PreCondition>>,
    pub(crate) function: Arc<PreFunction>,
}

impl PreHook {
    /// Makes a hook from an async function or an async closure: `async |context| { … }`.
    ///
    /// With a name alone the run waits for it; a [`Hook`] configures more. A closure that captures
    /// something needs [`boxed`](Self::boxed), or a type of your own
    /// ([`from_handler`](Self::from_handler)).
    pub fn new<F>(config: impl Into<Hook>, function: F) -> Self
    where
        F: AsyncFn(&mut HookContext) -> Result<(), HookError> + for<'a> PreHookFn<'a> + 'static,
    {
        Self::boxed(config, move |context| Box::pin(function(context)))
    }

    /// Makes a hook from a closure that returns a boxed future, with clones of what it needs: `move
    /// |context| { let log = log.clone(); Box::pin(async move { … }) }`.
    pub fn boxed<F>(config: impl Into<Hook>, function: F) -> Self
    where
        F: for<'a> Fn(&'a mut HookContext) -> BoxFuture<'a, Result<(), HookError>>
            + Send
            + Sync
            + 'static,
    {
        Self {
            config: config.into(),
            priority: PRIORITY_DEFAULT,
            timeout: TIMEOUT_DEFAULT,
            guardrail: false,
            condition: None,
            function: Arc::new(function),
        }
    }

    /// Makes a hook from a type of your own.
    pub fn from_handler(config: impl Into<Hook>, handler: impl PreHookHandler) -> Self {
        let handler = Arc::new(handler);
        Self::boxed(config, move |context| {
            let handler = handler.clone();
            Box::pin(async move { handler.run(context).await })
        })
    }

    /// Gives it another name, and sets whether the run waits for it. A guardrail remains blocking.
    pub fn with_config(mut self, config: Hook) -> Self {
        self.config = Hook { blocking: config.blocking || self.guardrail, ..config };
        self
    }

    /// Makes it run in the background: the run does not wait for it, and its failure changes
    /// nothing. A guardrail remains blocking.
    pub fn in_background(mut self) -> Self {
        self.config.blocking = self.guardrail;
        self
    }

    /// Makes it a guardrail: blocking whatever is configured, and nothing is started in the
    /// background before all guardrails have passed.
    pub fn guardrail(mut self) -> Self {
        self.guardrail = true;
        self.config.blocking = true;
        self
    }

    /// Sets its priority; higher runs first, 100 by default.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets how long it may take; 30 seconds by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs it only if this returns `true`.
    pub fn only_if(
        mut self,
        condition: impl Fn(&HookContext) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.condition = Some(Arc::new(condition));
        self
    }

    /// Runs it alone, as a center would: only if its condition holds, within its time limit, and
    /// with a panic as an error.
    pub async fn execute(&self, context: &mut HookContext) -> Result<(), HookError> {
        result_of(call_pre_hook(self, context).await)
    }

    /// Returns its name and whether it is blocking.
    pub fn config(&self) -> &Hook {
        &self.config
    }
}

/// Returns the result of a call; a hook whose condition does not hold has succeeded.
fn result_of(called: HookCallResult) -> Result<(), HookError> {
    match called {
        Ok(said) => said.unwrap_or(Ok(())),
        Err(error) => Err(HookError::new(error.to_string())),
    }
}

impl fmt::Debug for PreHook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PreHook")
            .field("config", &self.config)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

/// When a post-hook runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum After {
    /// After a run that is complete.
    #[default]
    Success,
    /// After a run that failed.
    Failure,
    /// After either.
    Either,
}

/// A function that runs after an agent.
#[derive(Clone)]
pub struct PostHook {
    pub(crate) config: Hook,
    pub(crate) priority: i32,
    pub(crate) timeout: Duration,
    pub(crate) guardrail: bool,
    pub(crate) after: After,
    pub(crate) condition: Option<Arc<PostCondition>>,
    pub(crate) function: Arc<PostFunction>,
}

impl PostHook {
    /// Makes a hook from an async function or an async closure, as [`PreHook::new`] does: `async
    /// |context, run| { … }`.
    pub fn new<F>(config: impl Into<Hook>, function: F) -> Self
    where
        F: AsyncFn(&HookContext, &mut Run) -> Result<(), HookError>
            + for<'a> PostHookFn<'a>
            + 'static,
    {
        Self::boxed(config, move |context, run| Box::pin(function(context, run)))
    }

    /// Makes a hook from a closure that returns a boxed future, as [`PreHook::boxed`] does.
    pub fn boxed<F>(config: impl Into<Hook>, function: F) -> Self
    where
        F: for<'a> Fn(&'a HookContext, &'a mut Run) -> BoxFuture<'a, Result<(), HookError>>
            + Send
            + Sync
            + 'static,
    {
        Self {
            config: config.into(),
            priority: PRIORITY_DEFAULT,
            timeout: TIMEOUT_DEFAULT,
            guardrail: false,
            after: After::default(),
            condition: None,
            function: Arc::new(function),
        }
    }

    /// Makes a hook from a type of your own.
    pub fn from_handler(config: impl Into<Hook>, handler: impl PostHookHandler) -> Self {
        let handler = Arc::new(handler);
        Self::boxed(config, move |context, run| {
            let handler = handler.clone();
            Box::pin(async move { handler.run(context, run).await })
        })
    }

    /// Gives it another name, and sets whether the run waits for it. A guardrail remains blocking.
    pub fn with_config(mut self, config: Hook) -> Self {
        self.config = Hook { blocking: config.blocking || self.guardrail, ..config };
        self
    }

    /// Makes it run in the background, with a copy of the run. A guardrail remains blocking.
    pub fn in_background(mut self) -> Self {
        self.config.blocking = self.guardrail;
        self
    }

    /// Makes it a guardrail: blocking whatever is configured, and nothing is started in the
    /// background before all guardrails have passed.
    pub fn guardrail(mut self) -> Self {
        self.guardrail = true;
        self.config.blocking = true;
        self
    }

    /// Sets its priority; higher runs first, 100 by default.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets how long it may take; 30 seconds by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs it only if this returns `true`.
    pub fn only_if(
        mut self,
        condition: impl Fn(&HookContext, &Run) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.condition = Some(Arc::new(condition));
        self
    }

    /// Runs it only after a run that failed.
    pub fn on_error_only(mut self) -> Self {
        self.after = After::Failure;
        self
    }

    /// Runs it after every run, complete or failed.
    pub fn always(mut self) -> Self {
        self.after = After::Either;
        self
    }

    /// Runs it alone, as a center would: only if it is meant for such a run and its condition
    /// holds, within its time limit, and with a panic as an error. [`Run::new`] makes a run to try
    /// it with.
    pub async fn execute(&self, context: &HookContext, run: &mut Run) -> Result<(), HookError> {
        if !is_due(self.after, &run.status) {
            return Ok(());
        }
        result_of(call_post_hook(self, context, run).await)
    }

    /// Returns its name and whether it is blocking.
    pub fn config(&self) -> &Hook {
        &self.config
    }
}

impl fmt::Debug for PostHook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostHook")
            .field("config", &self.config)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}
