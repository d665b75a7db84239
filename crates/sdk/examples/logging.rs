//! Log every run of every agent, without making anybody wait.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use anyhook_sdk::HookError;
use anyhook_sdk::agent::{
    Agent, AgentCenter, HookContext, IfTaken, LiveAgentCenter, PostHook, PostHookHandler, PreHook,
    PreHookHandler, Run, ScriptedModel, SessionContext,
};
use tokio::sync::mpsc;

/// A hook with something of its own: a type. A task of its own writes; the hooks only hand over.
#[derive(Clone)]
struct Log(mpsc::UnboundedSender<String>);

impl Log {
    fn add(&self, line: String) -> Result<(), HookError> {
        self.0.send(line).map_err(HookError::of)
    }
}

impl PreHookHandler for Log {
    async fn run(&self, context: &mut HookContext) -> Result<(), HookError> {
        self.add(format!("{} <- {}", context.agent.id, context.user_message))
    }
}

impl PostHookHandler for Log {
    async fn run(&self, context: &HookContext, run: &mut Run) -> Result<(), HookError> {
        let tokens = run.usage.input_tokens + run.usage.output_tokens;
        self.add(format!("{} -> {} ({tokens} tokens)", context.agent.id, run.output))
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (sender, mut lines) = mpsc::unbounded_channel();
    let log = Log(sender);
    let center = LiveAgentCenter::builder().build();
    center.register_pre_hook(
        PreHook::from_handler("log-request", log.clone()).in_background(),
        IfTaken::Refuse,
    )?;
    center.register_post_hook(
        // Failed runs are worth a line, too.
        PostHook::from_handler("log-answer", log).always().in_background(),
        IfTaken::Refuse,
    )?;
    let model = ScriptedModel::new().says("Four.");
    center.register_model("model", Arc::new(model), IfTaken::Refuse)?;
    let agent =
        Agent::new("counter", "model").pre_hooks(["log-request"]).post_hooks(["log-answer"]);
    center.register_agent(agent, IfTaken::Refuse)?;

    let session = SessionContext::new("counter", "session-1");
    center.run_agent(&session, "2 + 2?", false).await?;
    center.wait_for_background_hooks().await;

    let mut written = Vec::new();
    while let Ok(line) = lines.try_recv() {
        println!("{line}");
        written.push(line);
    }
    assert_eq!(written, ["counter <- 2 + 2?", "counter -> Four. (11 tokens)"]);
    Ok(())
}
