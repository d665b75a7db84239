//! Log every run of every agent, without making anybody wait.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use anyhook_sdk::agent::{
    Agent, AgentCenter, IfTaken, LiveAgentCenter, PostHook, PreHook, ScriptedModel, SessionContext,
};
use tokio::sync::mpsc;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A task of its own writes; the hooks only hand over.
    let (sender, mut lines) = mpsc::unbounded_channel::<String>();
    let after = sender.clone();
    let center = LiveAgentCenter::builder().build();
    center.register_pre_hook(
        PreHook::new("log-request", move |context| {
            let line = format!("{} <- {}", context.agent.id, context.user_message);
            let sent = sender.send(line).map_err(|error| error.to_string().into());
            Box::pin(async move { sent })
        })
        .in_background(),
        IfTaken::Refuse,
    )?;
    center.register_post_hook(
        PostHook::new("log-answer", move |context, run| {
            let tokens = run.usage.input_tokens + run.usage.output_tokens;
            let line = format!("{} -> {} ({tokens} tokens)", context.agent.id, run.output);
            let sent = after.send(line).map_err(|error| error.to_string().into());
            Box::pin(async move { sent })
        })
        // Failed runs are worth a line, too.
        .always()
        .in_background(),
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
