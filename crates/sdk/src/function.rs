//! Function hooks: hooks that are functions of the program.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhook_model::hook::limits;
use anyhook_model::{Decision, EventKind, FailMode, HookDefinition, HookTrigger, Mode, Spelling};

use crate::seen::SeenEvent;

/// A boxed future that is `Send`: an async closure cannot promise that yet.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why a hook failed: a message, and the underlying error, if there is one.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct HookError {
    message: String,
    #[source]
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl HookError {
    /// Makes an error with a message.
    pub fn new(why: impl Into<String>) -> Self {
        Self { message: why.into(), source: None }
    }

    /// Carries an error of your own to the code that runs the agent.
    pub fn of(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { message: error.to_string(), source: Some(Arc::new(error)) }
    }

    /// Returns the error it carries, if it is of this type.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.source.as_deref()?.downcast_ref()
    }
}

impl From<String> for HookError {
    fn from(why: String) -> Self {
        Self::new(why)
    }
}

impl From<&str> for HookError {
    fn from(why: &str) -> Self {
        Self::new(why)
    }
}

pub(crate) type Function =
    dyn Fn(SeenEvent) -> BoxFuture<'static, Result<Decision, HookError>> + Send + Sync;

/// A type of your own that is asked about events, with its state in its fields.
///
/// ```
/// use anyhook_sdk::{Decision, EventHandler, EventKind, FunctionHook, HookError, SeenEvent};
///
/// struct Forbidden(Vec<String>);
///
/// impl EventHandler for Forbidden {
///     async fn decide(&self, event: SeenEvent) -> Result<Decision, HookError> {
///         let command = event.tool_text("command").unwrap_or_default();
///         let word = self.0.iter().find(|word| command.contains(word.as_str()));
///         Ok(word.map(|word| Decision::deny(format!("no {word} here"))).unwrap_or_default())
///     }
/// }
///
/// let words = Forbidden(vec!["mkfs".to_owned()]);
/// let hook = FunctionHook::from_handler("forbidden", &[EventKind::BeforeTool], words);
/// assert_eq!(hook.name(), "forbidden");
/// ```
pub trait EventHandler: Send + Sync + 'static {
    /// Decides about an event.
    fn decide(&self, event: SeenEvent) -> impl Future<Output = Result<Decision, HookError>> + Send;
}

/// A function that is asked about events, together with the HOOK.md hooks.
///
/// It has everything that a HOOK.md has: events, a matcher, a priority, a time limit, `on_failure`,
/// shadow mode, and whether it runs in the background.
#[derive(Clone)]
pub struct FunctionHook {
    pub(crate) definition: HookDefinition,
    pub(crate) function: Arc<Function>,
}

impl FunctionHook {
    /// Makes a hook that is asked at the given events.
    ///
    /// The function is an `async fn`, an async closure (`async |event| { … }`), or a closure that
    /// returns a future, with clones of what it needs:
    /// `move |event| { let log = log.clone(); async move { … } }`.
    pub fn new<F, Returned>(name: impl AsRef<str>, events: &[EventKind], function: F) -> Self
    where
        F: Fn(SeenEvent) -> Returned + Send + Sync + 'static,
        Returned: Future<Output = Result<Decision, HookError>> + Send + 'static,
    {
        let mut definition = HookDefinition::named(name.as_ref());
        definition.triggers = events
            .iter()
            .map(|kind| HookTrigger { kind: kind.clone(), spelling: Spelling::Canonical })
            .collect();
        Self { definition, function: Arc::new(move |event| Box::pin(function(event))) }
    }

    /// Makes a hook from a type of your own that is asked at the given events.
    pub fn from_handler(
        name: impl AsRef<str>,
        events: &[EventKind],
        handler: impl EventHandler,
    ) -> Self {
        let handler = Arc::new(handler);
        Self::new(name, events, move |event| {
            let handler = handler.clone();
            async move { handler.decide(event).await }
        })
    }

    /// Makes a hook that is asked before each tool call.
    pub fn before_tool<F, Returned>(name: impl AsRef<str>, function: F) -> Self
    where
        F: Fn(SeenEvent) -> Returned + Send + Sync + 'static,
        Returned: Future<Output = Result<Decision, HookError>> + Send + 'static,
    {
        Self::new(name, &[EventKind::BeforeTool], function)
    }

    /// Makes a hook that is called after each tool call.
    pub fn after_tool<F, Returned>(name: impl AsRef<str>, function: F) -> Self
    where
        F: Fn(SeenEvent) -> Returned + Send + Sync + 'static,
        Returned: Future<Output = Result<Decision, HookError>> + Send + 'static,
    {
        Self::new(name, &[EventKind::AfterTool, EventKind::AfterToolFailure], function)
    }

    /// Sets its priority, 0 to 1000; higher runs first, 100 by default.
    pub fn priority(mut self, priority: u16) -> Self {
        self.definition.priority = priority.min(limits::PRIORITY_MAX);
        self
    }

    /// Asks it only about tools whose whole name matches the regular expression.
    pub fn tool(mut self, expression: impl Into<String>) -> Self {
        self.definition.matcher.tool = Some(expression.into());
        self
    }

    /// Asks it only about calls in whose input a value matches the regular expression.
    pub fn pattern(mut self, expression: impl Into<String>) -> Self {
        self.definition.matcher.pattern = Some(expression.into());
        self
    }

    /// Sets how long it may take, 100 ms to 10 minutes; 30 seconds by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.definition.timeout_ms = milliseconds.clamp(limits::TIMEOUT_MIN, limits::TIMEOUT_MAX);
        self
    }

    /// Makes its failure a block.
    pub fn block_on_failure(mut self) -> Self {
        self.definition.on_failure = FailMode::Block;
        self
    }

    /// Puts it in shadow mode: it runs and is journaled, and its decision does not count.
    pub fn shadow(mut self) -> Self {
        self.definition.mode = Mode::Shadow;
        self
    }

    /// Runs it in the background: it cannot decide anything, and nothing waits for it.
    pub fn in_background(mut self) -> Self {
        self.definition.is_async = true;
        self
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

impl fmt::Debug for FunctionHook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FunctionHook")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}
