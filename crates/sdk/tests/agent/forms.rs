//! What hooks may be made of, and how one is tried alone.

use std::sync::Mutex;
use std::time::Duration;

use anyhook_sdk::HookError;
use anyhook_sdk::agent::builtin::max_length;
use anyhook_sdk::agent::{
    Agent, Hook, HookContext, PostHook, PostHookHandler, PreHook, PreHookHandler, Run, RunStatus,
    SessionContext,
};

use crate::World;

fn context(message: &str) -> HookContext {
    HookContext::new(Agent::new("a", "m"), SessionContext::new("a", "s"), message)
}

async fn not_empty(context: &mut HookContext) -> Result<(), HookError> {
    tokio::task::yield_now().await;
    if context.user_message.is_empty() { Err("say something".into()) } else { Ok(()) }
}

async fn shout(_context: &HookContext, run: &mut Run) -> Result<(), HookError> {
    tokio::task::yield_now().await;
    run.output.make_ascii_uppercase();
    Ok(())
}

/// Numbers the messages.
#[derive(Default)]
struct Numbering(Mutex<usize>);

impl PreHookHandler for Numbering {
    async fn run(&self, context: &mut HookContext) -> Result<(), HookError> {
        tokio::task::yield_now().await;
        let mut number = self.0.lock().unwrap();
        *number += 1;
        context.user_message = format!("{number}: {}", context.user_message);
        Ok(())
    }
}

struct Signing(String);

impl PostHookHandler for Signing {
    async fn run(&self, _context: &HookContext, run: &mut Run) -> Result<(), HookError> {
        tokio::task::yield_now().await;
        run.output.push_str(&self.0);
        Ok(())
    }
}

#[tokio::test]
async fn functions_closures_and_types_in_one_run() {
    let world = World::with(
        vec![
            PreHook::new("function", not_empty),
            PreHook::new("closure", async |context| {
                tokio::task::yield_now().await;
                context.user_message.push('!');
                Ok(())
            }),
            PreHook::from_handler("type", Numbering::default()),
        ],
        vec![
            PostHook::new("function", shout),
            PostHook::new("closure", async |_context, run| {
                tokio::task::yield_now().await;
                run.output.push('?');
                Ok(())
            }),
            PostHook::from_handler("type", Signing(" -- me".to_owned())),
        ],
    );
    let run = world.run().await.unwrap();
    assert_eq!(run.output, "HELLO THERE? -- me");
    let asked = &world.model.requests()[0].messages[0];
    assert_eq!(*asked, anyhook_sdk::agent::Message::user("1: hi!"));
}

#[tokio::test]
async fn a_hook_runs_alone_as_it_would_in_a_run() {
    let hook = PreHook::new("function", not_empty);
    hook.execute(&mut context("hi")).await.unwrap();
    let error = hook.execute(&mut context("")).await.unwrap_err();
    assert_eq!(error.to_string(), "say something");
    hook.only_if(|context| context.metadata.contains_key("strict"))
        .execute(&mut context(""))
        .await
        .unwrap();

    let numbering = PreHook::from_handler("type", Numbering::default());
    let mut twice = context("x");
    for _ in 0..2 {
        numbering.execute(&mut twice).await.unwrap();
    }
    assert_eq!(twice.user_message, "2: 1: x");

    let panics = PreHook::new("panics", async |_| panic!("on purpose"));
    let error = panics.execute(&mut context("")).await.unwrap_err();
    assert_eq!(error.to_string(), "it panicked: on purpose");
    let flagged = context("").metadata("strict", true);
    assert_eq!(flagged.metadata["strict"], true);
}

#[tokio::test(start_paused = true)]
async fn a_hook_alone_keeps_to_its_time() {
    let stalls = PreHook::new("stalls", async |_| std::future::pending().await);
    let stalls = stalls.timeout(Duration::from_millis(20));
    let error = stalls.execute(&mut context("")).await.unwrap_err();
    assert_eq!(error.to_string(), "timed out after 20 ms");
}

#[tokio::test]
async fn a_post_hook_alone_runs_after_the_runs_it_is_meant_for() {
    let mut run = Run::new(SessionContext::new("a", "s"), "hello");
    assert_eq!(run.status, RunStatus::Completed);
    let hook = PostHook::new("function", shout);
    hook.execute(&context("hi"), &mut run).await.unwrap();
    assert_eq!(run.output, "HELLO");
    let on_error = PostHook::from_handler("type", Signing("!".to_owned())).on_error_only();
    on_error.execute(&context("hi"), &mut run).await.unwrap();
    assert_eq!(run.output, "HELLO");
    run.status = RunStatus::Failed("no answer".to_owned());
    on_error.execute(&context("hi"), &mut run).await.unwrap();
    assert_eq!(run.output, "HELLO!");
}

#[tokio::test]
async fn a_configuration_from_json_makes_a_hook() {
    let read = |text: &str| serde_json::from_str::<Hook>(text);
    let config = read(r#"{"name": "logger", "blocking": false}"#).unwrap();
    assert_eq!(PreHook::new(config.clone(), not_empty).config(), &config);
    assert_eq!(PostHook::new(config.clone(), shout).config(), &config);
    let default = read(r#"{"name": "guard"}"#).unwrap();
    assert!(PreHook::new(default, not_empty).config().blocking);
    let misspelt = read(r#"{"name": "guard", "blokcing": false}"#).unwrap_err().to_string();
    assert!(misspelt.contains("blokcing"), "{misspelt}");
    // One that is there already takes it, too; a guardrail is waited for all the same.
    let guardrail = max_length("short", 10).pre_hook().with_config(config);
    assert_eq!(guardrail.config(), &Hook::new("logger"));
}
