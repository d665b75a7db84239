//! Blocking and non-blocking pre-hooks.

use std::sync::Arc;

use anyhook_sdk::HookError;
use anyhook_sdk::agent::{PreHook, RunError};
use tokio::sync::Semaphore;

use crate::{Log, Scripted, World, noting};
use anyhook_sdk::agent::LiveAgentCenter;

/// Makes a world whose model writes to the given log.
pub(crate) fn world(log: &Log, pre: Vec<PreHook>) -> World {
    let model = Scripted { log: log.clone(), ..Scripted::saying("hello") };
    World::of(LiveAgentCenter::builder().build(), model, pre, Vec::new())
}

#[tokio::test]
async fn blocking_ones_run_one_after_another_and_the_agent_waits() {
    let log = Log::default();
    let slow = {
        let log = log.clone();
        PreHook::boxed("slow", move |_| {
            let log = log.clone();
            Box::pin(async move {
                log.add("slow begins");
                tokio::task::yield_now().await;
                log.add("slow ends");
                Ok(())
            })
        })
    };
    let world = world(&log, vec![noting(&log, "first"), slow, noting(&log, "last")]);
    world.run().await.unwrap();
    assert_eq!(log.entries(), ["first", "slow begins", "slow ends", "last", "model"]);
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the message is empty")]
struct Empty;

#[tokio::test]
async fn an_error_ends_the_run_before_the_model_is_asked_and_is_typed() {
    let log = Log::default();
    let validator = PreHook::boxed("input-validator", |context| {
        let is_empty = context.user_message.is_empty();
        Box::pin(async move { if is_empty { Err(HookError::of(Empty)) } else { Ok(()) } })
    });
    let world = world(&log, vec![validator, noting(&log, "never")]);
    let error =
        anyhook_sdk::agent::AgentCenter::run_agent(&*world.center, &world.session, "", false)
            .await
            .unwrap_err();
    let RunError::PreHook { hook, error } = error else { panic!("{error:?}") };
    assert_eq!((hook.as_str(), error.downcast_ref::<Empty>()), ("input-validator", Some(&Empty)));
    assert!(log.entries().is_empty(), "{log:?}");
}

#[tokio::test]
async fn non_blocking_ones_do_not_hold_up_the_run() {
    let log = Log::default();
    let gate = Arc::new(Semaphore::new(0));
    let logger = {
        let (gate, log) = (gate.clone(), log.clone());
        PreHook::boxed("request-logger", move |_| {
            let (gate, log) = (gate.clone(), log.clone());
            Box::pin(async move {
                gate.acquire().await.unwrap().forget();
                log.add("logged");
                Ok(())
            })
        })
        .in_background()
    };
    let world = world(&log, vec![logger]);
    world.run().await.unwrap();
    assert_eq!(log.entries(), ["model"]);
    assert_eq!(world.center.background().len(), 1);
    gate.add_permits(1);
    world.center.wait_for_background_hooks().await;
    assert_eq!(log.entries(), ["model", "logged"]);
}

#[tokio::test]
async fn errors_and_panics_in_the_background_change_nothing() {
    let log = Log::default();
    let fails = PreHook::boxed("fails", |_| Box::pin(async { Err("no table".into()) }));
    let panics = PreHook::boxed("panics", |_| Box::pin(async { panic!("on purpose") }));
    let world = world(&log, vec![fails.in_background(), panics.in_background()]);
    assert_eq!(world.run().await.unwrap().output, "hello");
    world.center.wait_for_background_hooks().await;
    assert!(world.center.background().is_empty());
}

/// Background hooks start when all blocking ones have passed, and not if one did not.
#[tokio::test]
async fn nothing_starts_in_the_background_if_a_guardrail_refuses() {
    let log = Log::default();
    let refuses = PreHook::boxed("refuses", |_| Box::pin(async { Err("no".into()) })).guardrail();
    let world = world(&log, vec![noting(&log, "logger").in_background(), refuses]);
    world.run().await.unwrap_err();
    world.center.wait_for_background_hooks().await;
    assert!(log.entries().is_empty(), "{log:?}");
}

#[tokio::test]
async fn a_guardrail_is_waited_for_whatever_is_set() {
    let log = Log::default();
    let guard = noting(&log, "guard").guardrail().in_background();
    assert!(guard.config().blocking);
    let model = Scripted { log: log.clone(), ..Scripted::saying("hello") };
    let center = LiveAgentCenter::builder().hooks_in_background().build();
    let refuses = PreHook::boxed("refuses", |_| Box::pin(async { Err("no".into()) }));
    let world = World::of(center, model, vec![guard, refuses], Vec::new());
    world.run().await.unwrap();
    world.center.wait_for_background_hooks().await;
    assert_eq!(log.entries(), ["guard", "model"], "the other one could not stop anything");
}
