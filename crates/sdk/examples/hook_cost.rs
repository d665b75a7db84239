//! What hooks cost an agent that has them built in: `cargo xtask bench` runs it.
//!
//! Prints one JSON object with medians in microseconds.

#![expect(clippy::print_stdout, reason = "its whole purpose")]

use std::sync::Arc;
use std::time::Instant;

use anyhook_sdk::agent::{
    Agent, AgentCenter, IfTaken, LiveAgentCenter, Model, ModelError, ModelEvent, ModelRequest,
    ModelStream, PreHook, RunRequest, SessionContext, StopReason,
};
use anyhook_sdk::{BoxFuture, Decision, FunctionHook, Hooks, ToolCall, scratch_places};
use serde_json::json;

const ROUNDS: usize = 20_000;
const JOURNALED: usize = 3_000;

/// A model that is done at once.
struct Done;

impl Model for Done {
    fn ask(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        struct Once(bool);
        impl futures_core::Stream for Once {
            type Item = Result<ModelEvent, ModelError>;
            fn poll_next(
                mut self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Self::Item>> {
                let event = (!std::mem::replace(&mut self.0, true))
                    .then_some(Ok(ModelEvent::Done(StopReason::Finished)));
                std::task::Poll::Ready(event)
            }
        }
        Box::pin(async { Ok(Box::pin(Once(false)) as ModelStream) })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A run with none, and with a hundred hooks that do nothing: the difference is what they cost.
    let plain = median_run(0).await?;
    let hundred = median_run(100).await?;
    let nothing = || FunctionHook::before_tool("nothing", async |_| Ok(Decision::default()));
    let alone = Hooks::builder("bench").hook(nothing()).build()?;
    let scratch = tempfile::tempdir()?;
    let places = scratch_places(scratch.path());
    let silent = Hooks::builder("bench")
        .places(places.clone())
        .work_dir(scratch.path())
        .hook(nothing())
        .without_journal()
        .build()?;
    let journaled =
        Hooks::builder("bench").places(places).work_dir(scratch.path()).hook(nothing()).build()?;
    println!(
        "{}",
        json!({
            "run_us": plain,
            "blocking_hook_us": (hundred - plain) / 100.0,
            "tool_hook_us": median_call(&alone, ROUNDS).await,
            "tool_hook_with_folders_us": median_call(&silent, JOURNALED).await,
            "tool_hook_with_journal_us": median_call(&journaled, JOURNALED).await,
        })
    );
    Ok(())
}

/// Returns how long a run takes with so many blocking hooks that do nothing.
async fn median_run(hooks: usize) -> Result<f64, Box<dyn std::error::Error>> {
    let center = LiveAgentCenter::builder().build();
    center.register_model("done", Arc::new(Done), IfTaken::Refuse)?;
    let names: Vec<String> = (0..hooks).map(|number| format!("hook-{number}")).collect();
    for name in &names {
        let hook = PreHook::new(name, async |_| Ok(()));
        center.register_pre_hook(hook, IfTaken::Refuse)?;
    }
    center.register_agent(Agent::new("a", "done").pre_hooks(names), IfTaken::Refuse)?;
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        // Sessions of their own: history is no part of this.
        let session = SessionContext::new("a", round.to_string());
        let request = RunRequest::new(session, "hi");
        let began = Instant::now();
        center.run(request).await?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(times))
}

async fn median_call(hooks: &Hooks, rounds: usize) -> f64 {
    let call = ToolCall::new("Shell", json!({"command": "ls"})).id("call-1");
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let began = Instant::now();
        hooks.before_tool("session", &call).await;
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    median(times)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
