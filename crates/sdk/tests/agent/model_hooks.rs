//! Hooks around each call of the model.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhook_sdk::HookError;
use anyhook_sdk::agent::{
    Agent, AgentCenter, HookContext, IfTaken, LiveAgentCenter, Message, ModelAnswer, ModelHook,
    ModelHookHandler, ModelRequest, RegisterError, Run, RunError, SessionContext, StopReason,
};

use crate::{Log, Scripted};

fn context() -> HookContext {
    HookContext::new(Agent::new("a", "m"), SessionContext::new("a", "s"), "hi")
}

/// Runs an agent with these hooks.
async fn run(model: &Scripted, hooks: Vec<ModelHook>) -> Result<Run, RunError> {
    let center = LiveAgentCenter::builder().build();
    center.register_model("m", Arc::new(model.clone()), IfTaken::Refuse).unwrap();
    let agent = Agent::new("a", "m").model_hooks(hooks.iter().map(ModelHook::name));
    for hook in hooks {
        center.register_model_hook(hook, IfTaken::Refuse).unwrap();
    }
    center.register_agent(agent, IfTaken::Refuse).unwrap();
    center.run_agent(&SessionContext::new("a", "s"), "hi", false).await
}

/// Counts what the model was asked, and what it cost.
#[derive(Clone, Default)]
struct Meter(Arc<(AtomicU64, AtomicU64)>);

impl ModelHookHandler for Meter {
    async fn before(&self, _: &HookContext, request: &mut ModelRequest) -> Result<(), HookError> {
        tokio::task::yield_now().await;
        self.0.0.fetch_add(1, Ordering::Relaxed);
        "be kind".clone_into(&mut request.instructions);
        Ok(())
    }

    async fn after(&self, _: &HookContext, answer: &mut ModelAnswer) -> Result<(), HookError> {
        tokio::task::yield_now().await;
        self.0.1.fetch_add(answer.usage.output_tokens, Ordering::Relaxed);
        Ok(())
    }
}

#[tokio::test]
async fn each_call_is_seen_and_may_be_changed() {
    let model = Scripted::default().then_calls("c1", "Missing", "{}").then_says("all done");
    let meter = Meter::default();
    let polite = ModelHook::after("polite", async |_context, answer| {
        if answer.stop_reason == StopReason::Finished {
            answer.text.push_str(", thank you");
        }
        Ok(())
    });
    let run = run(&model, vec![ModelHook::from_handler("meter", meter.clone()), polite]).await;
    let run = run.unwrap();
    assert_eq!(run.output, "all done, thank you");
    assert_eq!(run.messages.last(), Some(&Message::assistant("all done, thank you")));
    let asked = model.requests();
    assert!(asked.len() == 2 && asked.iter().all(|request| request.instructions == "be kind"));
    assert_eq!(meter.0.0.load(Ordering::Relaxed), 2);
    assert_eq!(meter.0.1.load(Ordering::Relaxed), run.usage.output_tokens);
}

#[tokio::test]
async fn they_run_by_priority() {
    struct Noting(Log, &'static str);
    impl ModelHookHandler for Noting {
        async fn before(&self, _: &HookContext, _: &mut ModelRequest) -> Result<(), HookError> {
            self.0.add(self.1);
            Ok(())
        }
    }
    let log = Log::default();
    let hook = |name| ModelHook::from_handler(name, Noting(log.clone(), name));
    let hooks = vec![hook("first"), hook("last").priority(1), hook("foremost").priority(900)];
    run(&Scripted::saying("hello"), hooks).await.unwrap();
    assert_eq!(log.entries(), ["foremost", "first", "last"]);
}

#[tokio::test]
async fn a_failure_ends_the_run() {
    let model = Scripted::saying("hello");
    let refuse = ModelHook::before("budget", async |_context, _request| Err("used up".into()));
    let error = run(&model, vec![refuse]).await.unwrap_err();
    let RunError::ModelHook { hook, error, run: broken } = error else { panic!("{error:?}") };
    assert_eq!((hook.as_str(), error.to_string()), ("budget", "used up".to_owned()));
    assert!(model.requests().is_empty() && broken.messages.len() == 1);

    let model = Scripted::default().then_says("a secret");
    let leak = ModelHook::after("leak", async |_context, answer| {
        if answer.text.contains("secret") { Err("it tells a secret".into()) } else { Ok(()) }
    });
    let error = run(&model, vec![leak]).await.unwrap_err();
    let RunError::ModelHook { run: broken, .. } = error else { panic!("{error:?}") };
    assert_eq!(broken.usage.output_tokens, 5, "what it cost counts");
    assert!(broken.output.is_empty());

    let panics = ModelHook::before("panics", async |_context, _request| panic!("on purpose"));
    let error = run(&Scripted::saying("hello"), vec![panics]).await.unwrap_err();
    assert_eq!(error.to_string(), "the hook `panics` stopped the model: it panicked: on purpose");
}

#[tokio::test]
async fn one_is_tried_alone() {
    let brief = ModelHook::before("brief", async |_context, request| {
        request.messages.truncate(1);
        Ok(())
    });
    let mut request = ModelRequest::default();
    request.messages = vec![Message::user("a"), Message::user("b")];
    brief.execute_before(&context(), &mut request).await.unwrap();
    assert_eq!(request.messages, [Message::user("a")]);
    let mut answer = ModelAnswer::new("as it was");
    brief.execute_after(&context(), &mut answer).await.unwrap();
    assert_eq!(answer, ModelAnswer::new("as it was"));
}

#[test]
fn an_unknown_name_is_an_error() {
    let center = LiveAgentCenter::builder().build();
    center.register_model("m", Arc::new(Scripted::default()), IfTaken::Refuse).unwrap();
    let agent = Agent::new("a", "m").model_hooks(["missing"]);
    let error = center.register_agent(agent, IfTaken::Refuse).unwrap_err();
    let RegisterError::Unknown { kind, name, .. } = error else { panic!("{error:?}") };
    assert_eq!((kind, name.as_str()), ("model hook", "missing"));
    let hook = ModelHook::before("there", async |_context, _request| Ok(()));
    center.register_model_hook(hook, IfTaken::Refuse).unwrap();
    assert_eq!(center.model_hook("there").unwrap().name(), "there");
    assert!(center.model_hook("missing").is_none());
}
