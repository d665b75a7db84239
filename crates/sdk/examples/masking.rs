//! A guardrail: secrets and personal data reach neither the model nor the person, streamed or not.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use anyhook_sdk::agent::builtin::mask_secrets;
use anyhook_sdk::agent::{
    Agent, AgentCenter, IfTaken, LiveAgentCenter, Message, RunEvent, RunRequest, ScriptedModel,
    SessionContext,
};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mask = mask_secrets("mask");
    let center = Arc::new(LiveAgentCenter::builder().build());
    center.register_pre_hook(mask.pre_hook(), IfTaken::Refuse)?;
    center.register_post_hook(mask.post_hook(), IfTaken::Refuse)?;
    center.register_stream_hook(mask.stream_hook(), IfTaken::Refuse)?;
    let model = ScriptedModel::new()
        .says("Write to ada@example.com about it.")
        .says("Write to ada@example.com about it.");
    center.register_model("model", Arc::new(model.clone()), IfTaken::Refuse)?;
    let agent = Agent::new("helper", "model").pre_hooks(["mask"]).post_hooks(["mask"]);
    center.register_agent(agent, IfTaken::Refuse)?;

    let session = SessionContext::new("helper", "session-1");
    let question = "why does https://ada:difference-engine@example.com refuse me?";
    let run = center.run_agent(&session, question, false).await?;
    println!("{}", run.output);
    assert!(!run.output.contains("ada@example.com"), "{}", run.output);
    let Some(Message::User { text }) = model.requests()[0].messages.first().cloned() else {
        return Err("the model was asked nothing".into());
    };
    println!("the model saw: {text}");
    assert!(!text.contains("difference-engine"), "{text}");

    let mut stream = center.stream_agent(RunRequest::new(session, "and again?"));
    let mut shown = String::new();
    while let Some(event) = stream.next().await {
        if let RunEvent::Piece(anyhook_sdk::agent::Piece::Text(piece)) = event? {
            shown.push_str(&piece);
        }
    }
    println!("streamed: {shown}");
    assert!(shown.starts_with("Write to [redacted") && !shown.contains("ada@"), "{shown}");
    Ok(())
}
