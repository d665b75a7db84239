//! The agent loop: asks the model, makes the calls it wants and returns their results to it, until
//! it is done. Hooks are asked at the prompt, around each call of the model and of a tool, and when
//! it stops.

use std::pin::Pin;
use std::time::Instant;

use anyhook_model::{Effect, ToolCall, Verdict};
use futures_core::Stream;
use serde_json::Value;
use tokio::sync::mpsc;

use super::hook::HookContext;
use super::live::{LiveAgentCenter, ResolvedAgent};
use super::message::{Message, RequestedCall};
use super::model::{ModelAnswer, ModelError, ModelEvent, ModelRequest};
use super::model_hook::ModelHook;
use super::run::{MadeCall, Run};
use super::stream_hook::{StreamChain, StreamStopped};
use super::tool::{ToolDescription, ToolError};
use crate::call::{CallError, guarded};
use crate::events::Stop;
use crate::function::HookError;

/// The model made no more calls.
const NO_TOOL_CALLS: &str = "no_tool_calls";
/// The agent has used all of its steps.
const MAX_STEPS: &str = "max_steps";

/// Why an agent did not finish.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum LoopError {
    #[error("{0}")]
    Model(ModelError),
    #[error("{0}")]
    Stopped(StreamStopped),
    #[error("the hook `{hook}` stopped the model: {error}")]
    ModelHook { hook: String, error: HookError },
    #[error("the agent is not done after {0} steps")]
    TooManySteps(usize),
    #[error("the prompt was blocked: {0}")]
    Blocked(String),
    #[cfg(feature = "mcp")]
    #[error("the MCP server `{server}` cannot be used: {why}")]
    McpServer { server: String, why: String },
}

/// Something that happens in a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Piece {
    /// The model said something.
    Text(String),
    /// A tool is about to be called.
    Calling(RequestedCall),
    /// The result of a call.
    Called(Box<MadeCall>),
}

/// The receiver of pieces as they happen.
pub(super) enum Sink {
    Nobody,
    Channel(mpsc::Sender<Piece>, StreamChain),
}

impl Sink {
    /// Sends a piece, and waits until there is room. A dropped receiver changes nothing.
    async fn tell(&mut self, piece: Piece) {
        if let Self::Channel(sender, _) = self {
            let _ = sender.send(piece).await;
        }
    }

    /// Passes a piece of text, or its end, through the stream hooks. Returns what was shown.
    async fn show(&mut self, text: Option<String>) -> Result<String, StreamStopped> {
        let shown = match (&mut *self, text) {
            (Self::Nobody, text) => text.unwrap_or_default(),
            (Self::Channel(_, chain), Some(text)) => chain.push(&text)?,
            (Self::Channel(_, chain), None) => chain.finish()?,
        };
        if !shown.is_empty() {
            self.tell(Piece::Text(shown.clone())).await;
        }
        Ok(shown)
    }
}

/// What an agent needs to run.
pub(super) struct Loop<'a> {
    pub(super) center: &'a LiveAgentCenter,
    pub(super) cast: &'a ResolvedAgent,
    pub(super) schema: Option<Value>,
    pub(super) history: Vec<Message>,
}

impl Loop<'_> {
    /// Runs the agent to its end. `run` has everything that happened, however it ends.
    pub(super) async fn run(
        &self,
        context: &HookContext,
        run: &mut Run,
        sink: &mut Sink,
    ) -> Result<(), LoopError> {
        if run.messages.is_empty() {
            let prompt = self.prompt(context).await?;
            run.messages.push(Message::user(prompt));
        }
        let tools: Vec<ToolDescription> = self
            .cast
            .agent
            .tool_names
            .iter()
            .filter_map(|name| Some(self.cast.tools.get(name)?.describe()))
            .collect();
        #[cfg(feature = "mcp")]
        let tools = [tools, self.cast.mcp_servers.connect(&self.cast.tools).await?].concat();
        let limit = self.center.settings.steps;
        for _ in 0..limit {
            self.finish_calls(context, run, sink).await;
            let mut request = ModelRequest::default();
            request.instructions.clone_from(&self.cast.agent.instructions);
            request.messages = [&self.history[..], &run.messages].concat();
            request.tools.clone_from(&tools);
            request.answer_schema.clone_from(&self.schema);
            let answer = self.ask_between_hooks(context, request, run, sink).await?;
            let is_last = answer.calls.is_empty();
            run.output.clone_from(&answer.text);
            run.messages.push(Message::Assistant { text: answer.text, calls: answer.calls });
            if is_last {
                match self.may_stop(context, &run.output).await {
                    Ok(()) => return Ok(()),
                    Err(reason) => run.messages.push(Message::user(reason)),
                }
            }
        }
        self.tell_stopped(context, &run.output, MAX_STEPS).await;
        Err(LoopError::TooManySteps(limit))
    }

    /// Asks the hooks about the prompt. Returns the prompt for the model.
    async fn prompt(&self, context: &HookContext) -> Result<String, LoopError> {
        let Some(hooks) = &self.center.settings.hooks else {
            return Ok(context.user_message.clone());
        };
        let session = &context.session.session_id;
        if self.center.sessions.begin(&context.session) {
            hooks.session_start(session).await;
        }
        let verdict = hooks.before_agent(session, &context.user_message).await;
        if verdict.is_block() {
            return Err(LoopError::Blocked(verdict.reason.unwrap_or_default()));
        }
        Ok(match verdict.context {
            Some(more) => format!("{}\n\n{more}", context.user_message),
            None => context.user_message.clone(),
        })
    }

    /// Asks the hooks whether the agent may stop; returns why not, if not.
    async fn may_stop(&self, context: &HookContext, output: &str) -> Result<(), String> {
        let Some(hooks) = &self.center.settings.hooks else { return Ok(()) };
        let stop = Stop::new(output).reason(NO_TOOL_CALLS);
        let verdict = hooks.before_stop(&context.session.session_id, stop).await;
        if verdict.is_block() {
            return Err(verdict.reason.unwrap_or_default());
        }
        self.tell_stopped(context, output, NO_TOOL_CALLS).await;
        Ok(())
    }

    /// Tells the hooks that the agent has stopped.
    async fn tell_stopped(&self, context: &HookContext, output: &str, reason: &str) {
        let Some(hooks) = &self.center.settings.hooks else { return };
        let session = &context.session.session_id;
        hooks.after_agent(session, output).await;
        hooks.after_stop(session, Stop::new(output).reason(reason)).await;
    }

    /// Asks the model, with the hooks around it. Its cost counts whatever they say.
    async fn ask_between_hooks(
        &self,
        context: &HookContext,
        mut request: ModelRequest,
        run: &mut Run,
        sink: &mut Sink,
    ) -> Result<ModelAnswer, LoopError> {
        let (hooks, metrics) = (&self.cast.model_hooks, &self.center.metrics);
        let failed =
            |hook: &ModelHook, error| LoopError::ModelHook { hook: hook.name().to_owned(), error };
        for hook in hooks {
            let said = hook.run_before(context, &mut request, metrics).await;
            said.map_err(|error| failed(hook, error))?;
        }
        let mut answer = self.ask(request, sink).await?;
        run.usage += answer.usage;
        for hook in hooks {
            let said = hook.run_after(context, &mut answer, metrics).await;
            said.map_err(|error| failed(hook, error))?;
        }
        Ok(answer)
    }

    async fn ask(&self, request: ModelRequest, sink: &mut Sink) -> Result<ModelAnswer, LoopError> {
        let mut stream = self.cast.model.ask(request).await.map_err(LoopError::Model)?;
        let mut answer = ModelAnswer::default();
        loop {
            let next =
                std::future::poll_fn(|context| Stream::poll_next(Pin::new(&mut stream), context));
            match next.await {
                Some(Ok(ModelEvent::Text(piece))) => {
                    let shown = sink.show(Some(piece)).await.map_err(LoopError::Stopped)?;
                    answer.text.push_str(&shown);
                }
                Some(Ok(ModelEvent::Call(call))) => answer.calls.push(call),
                Some(Ok(ModelEvent::Usage(usage))) => answer.usage = usage,
                Some(Ok(ModelEvent::Done(reason))) => {
                    answer.stop_reason = reason;
                    let rest = sink.show(None).await.map_err(LoopError::Stopped)?;
                    answer.text.push_str(&rest);
                    return Ok(answer);
                }
                Some(Err(error)) => return Err(LoopError::Model(error)),
                None => return Err(LoopError::Model(ModelError::BrokenOff)),
            }
        }
    }

    /// Makes the calls that the last answer requests and that have no result yet.
    async fn finish_calls(&self, context: &HookContext, run: &mut Run, sink: &mut Sink) {
        let answered: Vec<&str> = run
            .messages
            .iter()
            .rev()
            .map_while(|message| match message {
                Message::Tool { call_id, .. } => Some(call_id.as_str()),
                _ => None,
            })
            .collect();
        let last =
            run.messages.iter().rev().find(|message| !matches!(message, Message::Tool { .. }));
        let Some(Message::Assistant { calls, .. }) = last else { return };
        let open: Vec<RequestedCall> =
            calls.iter().filter(|call| !answered.contains(&call.id.as_str())).cloned().collect();
        for call in open {
            sink.tell(Piece::Calling(call.clone())).await;
            let (made, text) = self.call(context, &call).await;
            run.messages.push(Message::Tool { call_id: call.id, name: call.name, text });
            run.tool_calls.push(made.clone());
            sink.tell(Piece::Called(Box::new(made))).await;
        }
    }

    /// Makes one call, with the hooks around it. Returns its result and the text for the model.
    async fn call(&self, context: &HookContext, call: &RequestedCall) -> (MadeCall, String) {
        let began = Instant::now();
        let mut made = MadeCall {
            id: call.id.clone(),
            name: call.name.clone(),
            input: Value::Null,
            result: Err(String::new()),
            denied: false,
            duration: std::time::Duration::ZERO,
        };
        let mut notes = Vec::new();
        let result = self.try_call(context, call, &mut made.input, &mut notes).await;
        made.denied = matches!(result, Err(ToolError::Denied(_)));
        made.duration = began.elapsed();
        let mut text = match &result {
            Ok(Value::String(text)) => text.clone(),
            Ok(value) => value.to_string(),
            Err(error) => format!("error: {error}"),
        };
        for note in notes {
            text.push_str("\n\n");
            text.push_str(&note);
        }
        made.result = result.map_err(|error| error.to_string());
        (made, text)
    }

    async fn try_call(
        &self,
        context: &HookContext,
        call: &RequestedCall,
        input: &mut Value,
        notes: &mut Vec<String>,
    ) -> Result<Value, ToolError> {
        let unknown = || ToolError::Unknown(call.name.clone());
        let tool = self.cast.tool(&call.name).ok_or_else(unknown)?;
        let arguments = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
        *input = serde_json::from_str(arguments)
            .map_err(|error| ToolError::Arguments(format!("they are not JSON: {error}")))?;
        let Some(hooks) = &self.center.settings.hooks else {
            return self.call_tool(&**tool, input.clone()).await;
        };
        let session = &context.session.session_id;
        let asked = ToolCall::new(&call.name, input.clone()).id(&call.id);
        let verdict = hooks.before_tool(session, &asked).await;
        match verdict.effect {
            Some(Effect::Deny) => {
                return Err(ToolError::Denied(verdict.reason.unwrap_or_default()));
            }
            Some(Effect::Ask) => {
                let mut wanted = asked;
                if let Some(changed) = verdict.input.clone() {
                    wanted.change_input(changed);
                }
                let permission = hooks.permission_request(session, &wanted).await;
                if let Some(why) = not_permitted(&verdict, &permission) {
                    return Err(ToolError::Denied(why));
                }
            }
            _ => {}
        }
        if let Some(changed) = verdict.input {
            *input = Value::Object(changed);
        }
        notes.extend(verdict.context);
        let result = self.call_tool(&**tool, input.clone()).await;
        let made = ToolCall::new(&call.name, input.clone()).id(&call.id);
        let told = result.clone().map_err(|error| error.to_string());
        let verdict = hooks.after_tool(session, &made, told).await;
        if verdict.is_block() {
            notes.extend(verdict.reason);
        }
        notes.extend(verdict.context);
        result
    }

    async fn call_tool(
        &self,
        tool: &dyn super::tool::Tool,
        input: Value,
    ) -> Result<Value, ToolError> {
        match guarded(self.center.settings.tool_timeout, || tool.call(input)).await {
            Ok(result) => result,
            Err(CallError::TimedOut(limit)) => Err(ToolError::TimedOut(limit)),
            Err(panicked) => Err(ToolError::Failed(panicked.to_string())),
        }
    }
}

/// Returns why a call may not be made that a hook wants a person to be asked about. There is no
/// person here, so it needs a hook that grants the permission.
fn not_permitted(asking: &Verdict, permission: &Verdict) -> Option<String> {
    match permission.effect {
        Some(Effect::Allow) => None,
        Some(Effect::Deny) => Some(permission.reason.clone().unwrap_or_default()),
        _ => {
            let reason = asking.reason.as_deref().unwrap_or_default();
            Some(format!("this needs a person's approval, and nobody can be asked here: {reason}"))
        }
    }
}
