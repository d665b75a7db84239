//! Check what goes in and what comes out; the model's answer as a type of your own.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use anyhook_sdk::HookError;
use anyhook_sdk::agent::{
    Agent, AgentCenter, IfTaken, LiveAgentCenter, PostHook, PreHook, RunError, RunRequest,
    ScriptedModel, SessionContext,
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
struct Recipe {
    name: String,
    minutes: u32,
}

#[derive(Debug, thiserror::Error)]
#[error("nobody waits {0} minutes for dinner")]
struct TooSlow(u32);

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let center = LiveAgentCenter::builder().build();
    let tidy = PreHook::new("tidy", async |context| {
        context.user_message = context.user_message.trim().to_owned();
        Ok(())
    });
    let quick_enough =
        PostHook::new("quick-enough", async |_context, run| match run.parse::<Recipe>() {
            Ok(recipe) if recipe.minutes > 60 => Err(HookError::of(TooSlow(recipe.minutes))),
            Ok(_) => Ok(()),
            Err(error) => Err(HookError::new(error.to_string())),
        });
    center.register_pre_hook(tidy.guardrail(), IfTaken::Refuse)?;
    center.register_post_hook(quick_enough.guardrail(), IfTaken::Refuse)?;
    let model = ScriptedModel::new()
        .says(r#"{"name": "Omelette", "minutes": 10}"#)
        .says(r#"{"name": "Goulash", "minutes": 180}"#);
    center.register_model("cook", Arc::new(model.clone()), IfTaken::Refuse)?;
    let agent = Agent::new("chef", "cook").pre_hooks(["tidy"]).post_hooks(["quick-enough"]);
    center.register_agent(agent, IfTaken::Refuse)?;

    let ask = || RunRequest::new(SessionContext::new("chef", "session-1"), "  dinner?  ");
    let (recipe, _run) = center.run_as::<Recipe>(ask()).await?;
    println!("{} in {} minutes", recipe.name, recipe.minutes);
    assert_eq!(recipe.name, "Omelette");

    let Err(RunError::PostHook { error, run, .. }) = center.run_as::<Recipe>(ask()).await else {
        return Err("goulash takes too long".into());
    };
    println!("refused: {error}");
    assert!(error.downcast_ref::<TooSlow>().is_some());
    assert!(run.output.contains("Goulash"), "the finished run is not lost");
    Ok(())
}
