//! The first steps: two loggers in the background, a validator that the run waits for, an agent.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use anyhook_sdk::HookError;
use anyhook_sdk::agent::{
    Agent, AgentCenter, IfTaken, LiveAgentCenter, PostHook, PreHook, RunError, ScriptedModel,
    SessionContext,
};

#[derive(Debug, thiserror::Error)]
#[error("Message cannot be empty")]
struct InvalidInput;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Define hooks
    let logging_pre_hook = PreHook::new("request-logger", async |context| {
        println!("[Pre] Agent {} - Message: {}", context.agent.name, context.user_message);
        Ok(())
    })
    .in_background();
    let logging_post_hook = PostHook::new("response-logger", async |context, run| {
        println!("[Post] Agent {} - Duration: {:?}", context.agent.name, run.duration);
        Ok(())
    })
    .in_background();
    let validation_pre_hook = PreHook::new("input-validator", async |context| {
        if context.user_message.is_empty() {
            return Err(HookError::of(InvalidInput));
        }
        Ok(())
    });

    // Register hooks, and a model
    let center = LiveAgentCenter::builder().build();
    center.register_pre_hook(logging_pre_hook, IfTaken::Refuse)?;
    center.register_pre_hook(validation_pre_hook, IfTaken::Refuse)?;
    center.register_post_hook(logging_post_hook, IfTaken::Refuse)?;
    let model = ScriptedModel::new().says("Hello! What can I do for you?");
    center.register_model("gpt-4", Arc::new(model), IfTaken::Refuse)?;

    // Configure the agent
    let agent = Agent::new("assistant", "gpt-4")
        .name("Assistant")
        .description("Helpful assistant")
        .instructions("You are a helpful assistant")
        .pre_hooks(["input-validator", "request-logger"])
        .post_hooks(["response-logger"]);
    center.register_agent(agent, IfTaken::Refuse)?;

    // Run the agent: hooks execute automatically
    let session = SessionContext::new("assistant", "session-1");
    let run = center.run_agent(&session, "Hello!", true).await?;
    // input-validator ran, and the run waited for it; both loggers may still be at work
    println!("{}", run.output);
    assert_eq!(run.output, "Hello! What can I do for you?");

    let refused = center.run_agent(&session, "", true).await;
    let Err(RunError::PreHook { hook, error }) = refused else {
        return Err("an empty message must be refused".into());
    };
    assert_eq!(hook, "input-validator");
    assert!(error.downcast_ref::<InvalidInput>().is_some());

    center.wait_for_background_hooks().await;
    Ok(())
}
