//! Blocking and non-blocking post-hooks.

use std::sync::Arc;

use anyhook_sdk::agent::{LiveAgentCenter, ModelError, PostHook, RunError, RunStatus};
use tokio::sync::Semaphore;

use crate::{Log, Scripted, World, noting_after};

fn world(log: &Log, post: Vec<PostHook>) -> World {
    let model = Scripted { log: log.clone(), ..Scripted::saying("hello") };
    World::of(LiveAgentCenter::builder().build(), model, Vec::new(), post)
}

#[tokio::test]
async fn blocking_ones_run_after_the_agent_and_may_change_the_run() {
    let log = Log::default();
    let shout = PostHook::boxed("shout", |_, run| {
        run.output = run.output.to_uppercase();
        Box::pin(async { Ok(()) })
    });
    let world = world(&log, vec![noting_after(&log, "after"), shout]);
    let run = world.run().await.unwrap();
    assert_eq!(log.entries(), ["model", "after"]);
    assert_eq!((run.output.as_str(), run.status), ("HELLO", RunStatus::Completed));
    assert_eq!(run.usage.input_tokens, 10);
}

#[tokio::test]
async fn an_error_reaches_the_caller_with_the_finished_run() {
    let log = Log::default();
    let refuses = PostHook::boxed("refuses", |_, _| Box::pin(async { Err("too rude".into()) }));
    let world = world(&log, vec![refuses, noting_after(&log, "never")]);
    let error = world.run().await.unwrap_err();
    let RunError::PostHook { hook, error, run } = error else { panic!("{error:?}") };
    assert_eq!((hook.as_str(), error.to_string().as_str()), ("refuses", "too rude"));
    assert_eq!(run.output, "hello");
    assert_eq!(log.entries(), ["model"]);
}

#[tokio::test]
async fn non_blocking_ones_get_a_copy_and_are_not_waited_for() {
    let log = Log::default();
    let gate = Arc::new(Semaphore::new(0));
    let logger = {
        let (gate, log) = (gate.clone(), log.clone());
        PostHook::boxed("response-logger", move |_, run| {
            let (gate, log) = (gate.clone(), log.clone());
            Box::pin(async move {
                gate.acquire().await.unwrap().forget();
                run.output.push_str(" changed");
                log.add(format!("logged {}", run.output));
                Err("and failed".into())
            })
        })
        .in_background()
    };
    let world = world(&log, vec![logger]);
    let run = world.run().await.unwrap();
    gate.add_permits(1);
    world.center.wait_for_background_hooks().await;
    assert_eq!(log.entries(), ["model", "logged hello changed"]);
    assert_eq!(run.output, "hello");
}

#[tokio::test]
async fn some_run_only_after_a_failure_and_some_after_either() {
    let log = Log::default();
    let hooks = || {
        vec![
            noting_after(&log, "success"),
            noting_after(&log, "failure").on_error_only(),
            noting_after(&log, "either").always(),
        ]
    };
    world(&log, hooks()).run().await.unwrap();
    assert_eq!(log.entries(), ["model", "success", "either"]);

    let log = Log::default();
    let told = log.clone();
    let reports = PostHook::boxed("reports", move |_, run| {
        told.add(format!("{:?}", run.status));
        Box::pin(async { Ok(()) })
    });
    let model = Scripted { log: log.clone(), ..Scripted::default() }
        .then(vec![Err(ModelError::Garbage("x".to_owned()))]);
    let center = LiveAgentCenter::builder().build();
    let world = World::of(center, model, Vec::new(), vec![reports.on_error_only()]);
    let error = world.run().await.unwrap_err();
    assert!(matches!(error, RunError::Model { .. }), "{error:?}");
    assert_eq!(log.entries(), ["model", "Failed(\"the model's answer cannot be read: x\")"]);
}
