//! Pre- and post-hooks: functions around a run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition::Agent;
use super::run::Run;
use super::session::SessionContext;
use crate::function::{BoxFuture, HookError};

/// A hook's name, and whether the run waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hook {
    /// The name by which agents call it.
    pub name: String,
    /// Whether the run waits for it, and ends if it fails.
    #[serde(default = "waited_for")]
    pub blocking: bool,
}

fn waited_for() -> bool {
    true
}

impl Hook {
    /// Names a hook that the run waits for.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), blocking: true }
    }
}

/// What a hook is shown of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HookContext {
    /// The agent.
    pub agent: Agent,
    /// The session.
    pub session: SessionContext,
    /// What the person said. A blocking pre-hook may rewrite it.
    pub user_message: String,
    /// Data that hooks pass on to later ones.
    pub metadata: Map<String, Value>,
}

pub(crate) type PreFunction =
    dyn for<'a> Fn(&'a mut HookContext) -> BoxFuture<'a, Result<(), HookError>> + Send + Sync;
pub(crate) type PostFunction = dyn for<'a> Fn(&'a HookContext, &'a mut Run) -> BoxFuture<'a, Result<(), HookError>>
    + Send
    + Sync;
pub(crate) type PreCondition = dyn Fn(&HookContext) -> bool + Send + Sync;
pub(crate) type PostCondition = dyn Fn(&HookContext, &Run) -> bool + Send + Sync;

/// A hook's place in the order if none is given; high runs first.
pub const PRIORITY_DEFAULT: i32 = 100;
/// How long a hook may take if nothing is said.
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
    /// Makes a hook that the run waits for: `|context| Box::pin(async move { … })`.
    pub fn new<F>(name: impl Into<String>, function: F) -> Self
    where
        F: for<'a> Fn(&'a mut HookContext) -> BoxFuture<'a, Result<(), HookError>>
            + Send
            + Sync
            + 'static,
    {
        Self {
            config: Hook::new(name),
            priority: PRIORITY_DEFAULT,
            timeout: TIMEOUT_DEFAULT,
            guardrail: false,
            condition: None,
            function: Arc::new(function),
        }
    }

    /// Makes it run aside: nobody waits for it, and its failure changes nothing. A guardrail stays
    /// one that is waited for.
    pub fn in_background(mut self) -> Self {
        self.config.blocking = self.guardrail;
        self
    }

    /// Makes it a guardrail: waited for whatever is set, and nothing is started aside before all
    /// guardrails have passed.
    pub fn guardrail(mut self) -> Self {
        self.guardrail = true;
        self.config.blocking = true;
        self
    }

    /// Sets its place in the order; high runs first, 100 by default.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets how long it may take; 30 seconds by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs it only where this is true.
    pub fn only_if(
        mut self,
        condition: impl Fn(&HookContext) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.condition = Some(Arc::new(condition));
        self
    }

    /// Returns its name and whether it is waited for.
    pub fn config(&self) -> &Hook {
        &self.config
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
    /// Makes a hook that the run waits for: `|context, run| Box::pin(async move { … })`.
    pub fn new<F>(name: impl Into<String>, function: F) -> Self
    where
        F: for<'a> Fn(&'a HookContext, &'a mut Run) -> BoxFuture<'a, Result<(), HookError>>
            + Send
            + Sync
            + 'static,
    {
        Self {
            config: Hook::new(name),
            priority: PRIORITY_DEFAULT,
            timeout: TIMEOUT_DEFAULT,
            guardrail: false,
            after: After::default(),
            condition: None,
            function: Arc::new(function),
        }
    }

    /// Makes it run aside, with a copy of the run. A guardrail stays one that is waited for.
    pub fn in_background(mut self) -> Self {
        self.config.blocking = self.guardrail;
        self
    }

    /// Makes it a guardrail: waited for whatever is set, and nothing is started aside before all
    /// guardrails have passed.
    pub fn guardrail(mut self) -> Self {
        self.guardrail = true;
        self.config.blocking = true;
        self
    }

    /// Sets its place in the order; high runs first, 100 by default.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets how long it may take; 30 seconds by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs it only where this is true.
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

    /// Returns its name and whether it is waited for.
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
