//! A session may use so many tokens, and no more.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use anyhook_sdk::agent::builtin::cost_limit;
use anyhook_sdk::agent::{
    Agent, AgentCenter, IfTaken, LiveAgentCenter, RunError, ScriptedModel, SessionContext,
};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limit = cost_limit("budget", 30);
    let (before, after) = limit.hooks();
    let center = LiveAgentCenter::builder().build();
    center.register_pre_hook(before, IfTaken::Refuse)?;
    center.register_post_hook(after, IfTaken::Refuse)?;
    let model = (0..10).fold(ScriptedModel::new(), |model, _| model.says("That is a long story."));
    center.register_model("model", Arc::new(model), IfTaken::Refuse)?;
    let agent = Agent::new("teller", "model").pre_hooks(["budget"]).post_hooks(["budget"]);
    center.register_agent(agent, IfTaken::Refuse)?;

    let session = SessionContext::new("teller", "session-1");
    let mut stories = 0;
    let refused = loop {
        match center.run_agent(&session, "tell me more", false).await {
            Ok(_) => stories += 1,
            Err(error) => break error,
        }
    };
    println!("{stories} stories, {} tokens, then: {refused}", limit.used(&session));
    assert_eq!(stories, 2);
    assert!(matches!(refused, RunError::PreHook { hook, .. } if hook == "budget"));
    let other = SessionContext::new("teller", "session-2");
    center.run_agent(&other, "tell me more", false).await?;
    let metrics = center.metrics().snapshot();
    assert!(metrics.iter().any(|hook| hook.errors == 1), "{metrics:?}");
    Ok(())
}
