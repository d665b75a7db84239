//! The agent center trait: registers agents, models, tools and hooks, and runs agents.

use std::sync::Arc;

use super::definition::Agent;
use super::hook::{PostHook, PreHook};
use super::model::Model;
use super::model_hook::ModelHook;
use super::run::{Run, RunError};
use super::session::SessionContext;
use super::tool::Tool;
use crate::function::BoxFuture;

/// Why something could not be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name is taken; `replace` would replace the old entry.
    #[error("the {kind} `{name}` is already registered")]
    Taken {
        /// What it is: `agent`, `model`, `tool`, `MCP server`, `pre-hook`, `post-hook`, `model
        /// hook`, `stream hook`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// An agent names something that is not registered.
    #[error("the agent `{agent}` refers to the {kind} `{name}`, which is not registered")]
    Unknown {
        /// The agent's id.
        agent: String,
        /// What is named: `model`, `tool`, `MCP server`, `pre-hook`, `post-hook`, `model hook`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A name is empty.
    #[error("the {0} has no name")]
    NoName(&'static str),
}

/// What happens if a name is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfTaken {
    /// It is an error.
    #[default]
    Refuse,
    /// The new one replaces the old one.
    Replace,
}

/// Registers agents and their parts, and runs them.
pub trait AgentCenter: Send + Sync {
    /// Registers a model under a name.
    fn register_model(
        &self,
        name: &str,
        model: Arc<dyn Model>,
        if_taken: IfTaken,
    ) -> Result<(), RegisterError>;

    /// Registers a tool under the name it describes itself with.
    fn register_tool(&self, tool: Arc<dyn Tool>, if_taken: IfTaken) -> Result<(), RegisterError>;

    /// Registers a pre-hook.
    fn register_pre_hook(&self, hook: PreHook, if_taken: IfTaken) -> Result<(), RegisterError>;

    /// Registers a post-hook.
    fn register_post_hook(&self, hook: PostHook, if_taken: IfTaken) -> Result<(), RegisterError>;

    /// Registers a hook around each call of a model.
    fn register_model_hook(&self, hook: ModelHook, if_taken: IfTaken) -> Result<(), RegisterError>;

    /// Registers an agent; everything it names must be registered.
    fn register_agent(&self, agent: Agent, if_taken: IfTaken) -> Result<(), RegisterError>;

    /// Returns an agent.
    fn agent(&self, id: &str) -> Option<Agent>;

    /// Returns a model.
    fn model(&self, name: &str) -> Option<Arc<dyn Model>>;

    /// Returns a tool.
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// Returns a pre-hook.
    fn pre_hook(&self, name: &str) -> Option<PreHook>;

    /// Returns a post-hook.
    fn post_hook(&self, name: &str) -> Option<PostHook>;

    /// Returns a hook around the calls of models.
    fn model_hook(&self, name: &str) -> Option<ModelHook>;

    /// Sends a message to an agent and returns the finished run.
    fn run_agent<'a>(
        &'a self,
        session: &'a SessionContext,
        message: &'a str,
        load_history: bool,
    ) -> BoxFuture<'a, Result<Run, RunError>>;
}
