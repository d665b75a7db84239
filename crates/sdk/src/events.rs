//! The methods that report an agent's events to its hooks: one per event.

use anyhook_engine::now;
use anyhook_model::{Event, EventKind, ToolCall, Verdict};
use serde_json::Value;

use crate::hooks::Hooks;

/// The end of an agent's turn.
///
/// A plain text is the final message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stop {
    /// The agent's final message.
    pub final_message: String,
    /// Why it stops: `no_tool_calls`, `tool_rejected` or `max_steps`.
    pub reason: Option<String>,
    /// How many tools it called in this turn; counted by anyhook if it is not given.
    pub steps: Option<u64>,
}

impl Stop {
    /// Makes the end of a turn with a final message.
    pub fn new(final_message: impl Into<String>) -> Self {
        Self { final_message: final_message.into(), reason: None, steps: None }
    }

    /// Sets why the agent stops.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets how many tools it called.
    pub fn steps(mut self, steps: u64) -> Self {
        self.steps = Some(steps);
        self
    }

    fn fields(self) -> Fields {
        vec![
            ("final_message", self.final_message.into()),
            ("stop_reason", self.reason.into()),
            ("step_count", self.steps.into()),
        ]
    }
}

impl From<&str> for Stop {
    fn from(final_message: &str) -> Self {
        Self::new(final_message)
    }
}

impl From<String> for Stop {
    fn from(final_message: String) -> Self {
        Self::new(final_message)
    }
}

/// An agent that another agent starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subagent {
    /// Its name.
    pub name: String,
    /// What kind of agent it is.
    pub kind: Option<String>,
    /// Its task.
    pub task: Option<String>,
}

impl Subagent {
    /// Names a subagent.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: None, task: None }
    }

    /// Sets what kind of agent it is.
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Sets its task.
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.task = Some(task.into());
        self
    }

    fn fields(&self) -> Fields {
        vec![
            ("subagent_name", self.name.clone().into()),
            ("subagent_type", self.kind.clone().into()),
            ("task_description", self.task.clone().into()),
        ]
    }
}

/// Who requested a compaction of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// A person.
    Manual,
    /// The agent itself.
    Auto,
}

impl Compaction {
    fn fields(self) -> Fields {
        let word = match self {
            Self::Manual => "manual",
            Self::Auto => "auto",
        };
        vec![("trigger", word.into())]
    }
}

type Fields = Vec<(&'static str, Value)>;

impl Hooks {
    /// Makes an event of this agent, to be completed and [dispatched](Self::dispatch).
    pub fn event(&self, kind: EventKind, session: impl Into<String>) -> Event {
        let mut event = Event::new(kind, self.agent(), self.work_dir(), now());
        event.session = Some(session.into());
        event
    }

    /// Reports that a session starts.
    pub async fn session_start(&self, session: &str) -> Verdict {
        self.tell(EventKind::SessionStart, session, Vec::new()).await
    }

    /// Reports that a session has ended, and why.
    pub async fn session_end(&self, session: &str, exit_reason: &str) -> Verdict {
        self.tell(EventKind::SessionEnd, session, vec![("exit_reason", exit_reason.into())]).await
    }

    /// Asks whether a prompt may go to the model.
    pub async fn before_agent(&self, session: &str, prompt: &str) -> Verdict {
        self.tell(EventKind::BeforeAgent, session, vec![("prompt", prompt.into())]).await
    }

    /// Reports that the agent has finished its turn.
    pub async fn after_agent(&self, session: &str, final_message: &str) -> Verdict {
        let fields = vec![("final_message", final_message.into())];
        self.tell(EventKind::AfterAgent, session, fields).await
    }

    /// Asks whether the agent may stop; a block means that it continues, with the reason.
    pub async fn before_stop(&self, session: &str, stop: impl Into<Stop>) -> Verdict {
        self.tell(EventKind::BeforeStop, session, stop.into().fields()).await
    }

    /// Reports that the agent has stopped.
    pub async fn after_stop(&self, session: &str, stop: impl Into<Stop>) -> Verdict {
        self.tell(EventKind::AfterStop, session, stop.into().fields()).await
    }

    /// Asks whether a tool may be called. If the verdict has an `input`, the tool must be called
    /// with it.
    pub async fn before_tool(&self, session: &str, call: &ToolCall) -> Verdict {
        self.ask(EventKind::BeforeTool, session, call, Vec::new()).await
    }

    /// Reports the result of a tool call: its output, or its error.
    pub async fn after_tool(
        &self,
        session: &str,
        call: &ToolCall,
        result: Result<Value, String>,
    ) -> Verdict {
        let (kind, field, value) = match result {
            Ok(output) => (EventKind::AfterTool, "tool_output", output),
            Err(error) => (EventKind::AfterToolFailure, "error", error.into()),
        };
        self.ask(kind, session, call, vec![(field, value)]).await
    }

    /// Asks for permission to call a tool: an [`allow`](anyhook_model::Effect::Allow) grants it, a
    /// block denies it, and without either a person decides.
    pub async fn permission_request(&self, session: &str, call: &ToolCall) -> Verdict {
        self.ask(EventKind::PermissionRequest, session, call, Vec::new()).await
    }

    /// Asks whether a subagent may start.
    pub async fn subagent_start(&self, session: &str, subagent: &Subagent) -> Verdict {
        self.tell(EventKind::SubagentStart, session, subagent.fields()).await
    }

    /// Asks whether a subagent may stop; a block means that it continues, with the reason.
    pub async fn subagent_stop(
        &self,
        session: &str,
        subagent: &Subagent,
        final_message: &str,
    ) -> Verdict {
        let mut fields = subagent.fields();
        fields.push(("final_message", final_message.into()));
        self.tell(EventKind::SubagentStop, session, fields).await
    }

    /// Asks whether the context may be compacted.
    pub async fn pre_compact(&self, session: &str, asked_by: Compaction) -> Verdict {
        self.tell(EventKind::PreCompact, session, asked_by.fields()).await
    }

    /// Reports that the context has been compacted.
    pub async fn post_compact(&self, session: &str, asked_by: Compaction) -> Verdict {
        self.tell(EventKind::PostCompact, session, asked_by.fields()).await
    }

    /// Reports a notification to the user. The kind is `idle`, `permission_prompt` or `other`.
    pub async fn notification(&self, session: &str, kind: &str, message: &str) -> Verdict {
        let fields = vec![("kind", kind.into()), ("message", message.into())];
        self.tell(EventKind::Notification, session, fields).await
    }

    async fn ask(&self, kind: EventKind, session: &str, call: &ToolCall, data: Fields) -> Verdict {
        let mut event = self.event(kind, session);
        event.tool = Some(call.clone());
        event.data = told(data);
        self.dispatch(event).await
    }

    async fn tell(&self, kind: EventKind, session: &str, data: Fields) -> Verdict {
        let mut event = self.event(kind, session);
        event.data = told(data);
        self.dispatch(event).await
    }
}

/// Leaves out fields that are not given, so that anyhook can count them.
fn told(fields: Fields) -> serde_json::Map<String, Value> {
    let is_told = |(_, value): &(&str, Value)| !value.is_null();
    fields.into_iter().filter(is_told).map(|(name, value)| (name.to_owned(), value)).collect()
}
