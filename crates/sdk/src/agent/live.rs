//! The live agent center: the registry of agents, models, tools and hooks.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use super::center::{AgentCenter, IfTaken, RegisterError};
use super::definition::Agent;
use super::flow::{Cancel, RunRequest};
use super::hook::{PostHook, PreHook};
use super::model::Model;
use super::model_hook::ModelHook;
use super::run::{Run, RunError};
use super::session::{History, MemoryHistory, OpenSessions, SessionContext};
use super::stream_hook::StreamHook;
use super::tool::Tool;
use crate::background::{Background, MOST};
use crate::function::BoxFuture;
use crate::hooks::Hooks;
use crate::metrics::Metrics;

/// The default number of steps that an agent may make in a run.
const STEPS: usize = 50;
/// The default time limit of a tool.
const TOOL_TIMEOUT: Duration = Duration::from_secs(600);

/// Registers agents and their parts, and runs them. Share it with [`Arc`].
///
/// Dropping it cancels what runs in the background.
#[derive(Debug)]
pub struct LiveAgentCenter {
    pub(super) registry: RwLock<Registry>,
    pub(super) settings: CenterSettings,
    pub(super) background: Background,
    pub(super) metrics: Arc<Metrics>,
    pub(super) sessions: OpenSessions,
}

/// What does not change during the lifetime of a center.
pub(super) struct CenterSettings {
    pub(super) history: Arc<dyn History>,
    pub(super) hooks: Option<Arc<Hooks>>,
    pub(super) steps: usize,
    pub(super) tool_timeout: Duration,
    pub(super) all_in_background: bool,
}

impl std::fmt::Debug for CenterSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CenterSettings")
            .field("hooks", &self.hooks)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "mcp")]
type KnownMcpServer = Arc<super::mcp::Registered>;
/// None can be registered.
#[cfg(not(feature = "mcp"))]
type KnownMcpServer = Arc<std::convert::Infallible>;

/// Everything that is registered.
#[derive(Default)]
pub(super) struct Registry {
    agents: HashMap<String, Arc<Agent>>,
    models: HashMap<String, Arc<dyn Model>>,
    tools: HashMap<String, Arc<dyn Tool>>,
    pre_hooks: HashMap<String, PreHook>,
    post_hooks: HashMap<String, PostHook>,
    model_hooks: HashMap<String, ModelHook>,
    stream_hooks: HashMap<String, StreamHook>,
    pub(super) mcp_servers: HashMap<String, KnownMcpServer>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Registry")
            .field("agents", &self.agents.keys())
            .field("models", &self.models.keys())
            .field("tools", &self.tools.keys())
            .field("pre_hooks", &self.pre_hooks.keys())
            .field("post_hooks", &self.post_hooks.keys())
            .field("model_hooks", &self.model_hooks.keys())
            .field("stream_hooks", &self.stream_hooks.keys())
            .field("mcp_servers", &self.mcp_servers.keys())
            .finish()
    }
}

/// An agent with everything it names, as of the start of its run.
pub(super) struct ResolvedAgent {
    pub(super) agent: Arc<Agent>,
    pub(super) model: Arc<dyn Model>,
    pub(super) tools: HashMap<String, Arc<dyn Tool>>,
    pub(super) pre_hooks: Vec<PreHook>,
    pub(super) post_hooks: Vec<PostHook>,
    pub(super) model_hooks: Vec<ModelHook>,
    #[cfg(feature = "mcp")]
    pub(super) mcp_servers: super::mcp::RunServers,
}

impl ResolvedAgent {
    /// Returns a tool of the agent, its own or of an MCP server.
    pub(super) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let tool = self.tools.get(name);
        #[cfg(feature = "mcp")]
        let tool = tool.or_else(|| self.mcp_servers.tool(name));
        tool
    }
}

/// Builds a [`LiveAgentCenter`].
#[derive(Debug)]
#[must_use]
pub struct LiveAgentCenterBuilder {
    settings: CenterSettings,
    background: usize,
}

impl LiveAgentCenterBuilder {
    /// Stores the messages of sessions there; in memory by default.
    pub fn history(mut self, history: Arc<dyn History>) -> Self {
        self.settings.history = history;
        self
    }

    /// Asks these hooks, HOOK.md folders and functions: when a session begins and ends, at prompts,
    /// around tool calls, before and after the agent stops.
    pub fn hooks(mut self, hooks: Arc<Hooks>) -> Self {
        self.settings.hooks = Some(hooks);
        self
    }

    /// Sets how many steps an agent may make in a run; 50 by default. A step is one answer of the
    /// model.
    pub fn step_limit(mut self, steps: usize) -> Self {
        self.settings.steps = steps.max(1);
        self
    }

    /// Sets how long a tool may take; ten minutes by default.
    pub fn tool_timeout(mut self, timeout: Duration) -> Self {
        self.settings.tool_timeout = timeout;
        self
    }

    /// Runs all hooks except guardrails in the background.
    pub fn hooks_in_background(mut self) -> Self {
        self.settings.all_in_background = true;
        self
    }

    /// Sets how many hooks may run in the background at once; 1,024 by default. More than that are
    /// left out, with a warning in the log.
    pub fn background_hooks(mut self, most: usize) -> Self {
        self.background = most;
        self
    }

    /// Builds the center.
    pub fn build(self) -> LiveAgentCenter {
        LiveAgentCenter {
            registry: RwLock::default(),
            settings: self.settings,
            background: Background::new(self.background),
            metrics: Arc::default(),
            sessions: OpenSessions::default(),
        }
    }
}

impl LiveAgentCenter {
    /// Starts to build a center.
    pub fn builder() -> LiveAgentCenterBuilder {
        LiveAgentCenterBuilder {
            settings: CenterSettings {
                history: Arc::new(MemoryHistory::default()),
                hooks: None,
                steps: STEPS,
                tool_timeout: TOOL_TIMEOUT,
                all_in_background: false,
            },
            background: MOST,
        }
    }

    /// Waits until no hook runs in the background any more.
    pub async fn wait_for_background_hooks(&self) {
        self.background.wait().await;
        if let Some(hooks) = &self.settings.hooks {
            hooks.wait_for_background_hooks().await;
        }
    }

    /// Cancels all hooks that run in the background.
    pub fn cancel_background_hooks(&self) {
        self.background.cancel();
        if let Some(hooks) = &self.settings.hooks {
            hooks.cancel_background_hooks();
        }
    }

    /// Ends a session: notifies the hooks, if they know of it. A later run starts it again.
    ///
    /// A session starts with its first run. Its history is kept.
    pub async fn end_session(&self, session: &SessionContext, exit_reason: &str) {
        if let Some(hooks) = &self.settings.hooks
            && self.sessions.close(session)
        {
            hooks.session_end(&session.session_id, exit_reason).await;
        }
    }

    /// Ends all sessions and waits until no hook runs in the background any more: for an orderly
    /// shutdown of the program.
    pub async fn shut_down(&self) {
        for session in self.sessions.open() {
            self.end_session(&session, "shutdown").await;
        }
        self.wait_for_background_hooks().await;
    }

    /// Registers a stream hook: it sees every answer that is [streamed](Self::stream_agent).
    pub fn register_stream_hook(
        &self,
        hook: StreamHook,
        if_taken: IfTaken,
    ) -> Result<(), RegisterError> {
        let name = hook.name().to_owned();
        self.change(|registry| {
            put(&mut registry.stream_hooks, "stream hook", &name, hook, if_taken)
        })
    }

    pub(super) fn stream_hooks(&self) -> Vec<StreamHook> {
        let mut hooks: Vec<StreamHook> = self.read().stream_hooks.values().cloned().collect();
        // At equal priority by name.
        hooks.sort_by(|one, other| one.name().cmp(other.name()));
        hooks
    }

    /// Returns the metrics of pre- and post-hooks: counts, errors, latencies.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns the background tasks.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Returns which hooks a run of an agent would call, in order: pre-hooks, then post-hooks.
    pub fn explain_agent(&self, id: &str) -> Option<Vec<PlannedRunHook>> {
        let cast = self.cast(id)?;
        let in_background = |hook: &super::hook::Hook, guardrail: bool| {
            !hook.blocking || self.settings.all_in_background && !guardrail
        };
        let pre = cast.pre_hooks.iter().map(|hook| PlannedRunHook {
            name: hook.config.name.clone(),
            phase: "pre",
            priority: hook.priority,
            background: in_background(&hook.config, hook.guardrail),
        });
        let post = cast.post_hooks.iter().map(|hook| PlannedRunHook {
            name: hook.config.name.clone(),
            phase: "post",
            priority: hook.priority,
            background: in_background(&hook.config, hook.guardrail),
        });
        Some(pre.chain(post).collect())
    }

    /// Returns an agent with everything it names.
    pub(super) fn cast(&self, id: &str) -> Option<ResolvedAgent> {
        let registry = self.read();
        let agent = registry.agents.get(id)?.clone();
        let mut pre_hooks: Vec<PreHook> = agent
            .pre_hook_names
            .iter()
            .filter_map(|name| registry.pre_hooks.get(name))
            .cloned()
            .collect();
        let mut post_hooks: Vec<PostHook> = agent
            .post_hook_names
            .iter()
            .filter_map(|name| registry.post_hooks.get(name))
            .cloned()
            .collect();
        // At equal priority in the order in which the agent names them.
        pre_hooks.sort_by_key(|hook| std::cmp::Reverse(hook.priority));
        post_hooks.sort_by_key(|hook| std::cmp::Reverse(hook.priority));
        let mut model_hooks: Vec<ModelHook> = agent
            .model_hook_names
            .iter()
            .filter_map(|name| registry.model_hooks.get(name))
            .cloned()
            .collect();
        model_hooks.sort_by_key(|hook| std::cmp::Reverse(hook.priority));
        let tool = |name: &String| Some((name.clone(), registry.tools.get(name)?.clone()));
        Some(ResolvedAgent {
            model: registry.models.get(&agent.model_name)?.clone(),
            tools: agent.tool_names.iter().filter_map(tool).collect(),
            pre_hooks,
            post_hooks,
            model_hooks,
            #[cfg(feature = "mcp")]
            mcp_servers: super::mcp::RunServers::named(
                &agent.mcp_server_names,
                &registry.mcp_servers,
            ),
            agent,
        })
    }

    fn read(&self) -> RwLockReadGuard<'_, Registry> {
        // No code that holds the write lock can panic half-way.
        self.registry.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        change(&mut self.registry.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A hook of a run, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedRunHook {
    /// The hook's name.
    pub name: String,
    /// `pre` or `post`.
    pub phase: &'static str,
    /// Its priority.
    pub priority: i32,
    /// Whether it runs in the background.
    pub background: bool,
}

/// Stores something under its name, unless the name is taken.
pub(super) fn put<T>(
    map: &mut HashMap<String, T>,
    kind: &'static str,
    name: &str,
    value: T,
    if_taken: IfTaken,
) -> Result<(), RegisterError> {
    if name.is_empty() {
        return Err(RegisterError::NoName(kind));
    }
    if if_taken == IfTaken::Refuse && map.contains_key(name) {
        return Err(RegisterError::Taken { kind, name: name.to_owned() });
    }
    map.insert(name.to_owned(), value);
    Ok(())
}

impl AgentCenter for LiveAgentCenter {
    fn register_model(
        &self,
        name: &str,
        model: Arc<dyn Model>,
        if_taken: IfTaken,
    ) -> Result<(), RegisterError> {
        self.change(|registry| put(&mut registry.models, "model", name, model, if_taken))
    }

    fn register_tool(&self, tool: Arc<dyn Tool>, if_taken: IfTaken) -> Result<(), RegisterError> {
        let name = tool.describe().name;
        self.change(|registry| put(&mut registry.tools, "tool", &name, tool, if_taken))
    }

    fn register_pre_hook(&self, hook: PreHook, if_taken: IfTaken) -> Result<(), RegisterError> {
        let name = hook.config.name.clone();
        self.change(|registry| put(&mut registry.pre_hooks, "pre-hook", &name, hook, if_taken))
    }

    fn register_post_hook(&self, hook: PostHook, if_taken: IfTaken) -> Result<(), RegisterError> {
        let name = hook.config.name.clone();
        self.change(|registry| put(&mut registry.post_hooks, "post-hook", &name, hook, if_taken))
    }

    fn register_model_hook(&self, hook: ModelHook, if_taken: IfTaken) -> Result<(), RegisterError> {
        let name = hook.name().to_owned();
        self.change(|registry| put(&mut registry.model_hooks, "model hook", &name, hook, if_taken))
    }

    fn register_agent(&self, agent: Agent, if_taken: IfTaken) -> Result<(), RegisterError> {
        self.change(|registry| {
            let unknown = |kind, name: &String| RegisterError::Unknown {
                agent: agent.id.clone(),
                kind,
                name: name.clone(),
            };
            if !registry.models.contains_key(&agent.model_name) {
                return Err(unknown("model", &agent.model_name));
            }
            let find = |names: &[String], kind, known: &dyn Fn(&String) -> bool| {
                names
                    .iter()
                    .find(|name| !known(name))
                    .map_or(Ok(()), |name| Err(unknown(kind, name)))
            };
            find(&agent.tool_names, "tool", &|name| registry.tools.contains_key(name))?;
            find(&agent.mcp_server_names, "MCP server", &|name| {
                registry.mcp_servers.contains_key(name)
            })?;
            find(&agent.pre_hook_names, "pre-hook", &|name| registry.pre_hooks.contains_key(name))?;
            find(&agent.post_hook_names, "post-hook", &|name| {
                registry.post_hooks.contains_key(name)
            })?;
            find(&agent.model_hook_names, "model hook", &|name| {
                registry.model_hooks.contains_key(name)
            })?;
            let id = agent.id.clone();
            put(&mut registry.agents, "agent", &id, Arc::new(agent), if_taken)
        })
    }

    fn agent(&self, id: &str) -> Option<Agent> {
        self.read().agents.get(id).map(|agent| Agent::clone(agent))
    }

    fn model(&self, name: &str) -> Option<Arc<dyn Model>> {
        self.read().models.get(name).cloned()
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.read().tools.get(name).cloned()
    }

    fn pre_hook(&self, name: &str) -> Option<PreHook> {
        self.read().pre_hooks.get(name).cloned()
    }

    fn post_hook(&self, name: &str) -> Option<PostHook> {
        self.read().post_hooks.get(name).cloned()
    }

    fn model_hook(&self, name: &str) -> Option<ModelHook> {
        self.read().model_hooks.get(name).cloned()
    }

    fn run_agent<'a>(
        &'a self,
        session: &'a SessionContext,
        message: &'a str,
        load_history: bool,
    ) -> BoxFuture<'a, Result<Run, RunError>> {
        let mut request = RunRequest::new(session.clone(), message);
        request.load_history = load_history;
        request.cancel = Cancel::default();
        Box::pin(self.run(request))
    }
}
