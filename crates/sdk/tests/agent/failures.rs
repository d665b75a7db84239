//! Hooks that panic or never end, models that stream garbage or stall, runs that are cancelled.

use std::time::Duration;

use anyhook_sdk::agent::{
    Cancel, IfTaken, LiveAgentCenter, ModelError, ModelEvent, PostHook, PreHook, RunError,
    RunEvent, RunRequest, RunStatus, StreamHook, StreamStep,
};

use crate::{Scripted, World};

#[tokio::test]
async fn a_panic_in_a_blocking_hook_is_an_error() {
    let panics = PreHook::boxed("panics", |_| Box::pin(async { panic!("on purpose") }));
    let error = World::with(vec![panics], Vec::new()).run().await.unwrap_err();
    assert_eq!(error.to_string(), "the hook `panics` stopped the run: it panicked: on purpose");
    let at_once = PreHook::boxed("at-once", |_| panic!("at once"));
    let error = World::with(vec![at_once], Vec::new()).run().await.unwrap_err();
    assert!(error.to_string().ends_with("it panicked: at once"), "{error}");
    let after = PostHook::boxed("after", |_, _| Box::pin(async { panic!("after") }));
    let error = World::with(Vec::new(), vec![after]).run().await.unwrap_err();
    assert!(matches!(error, RunError::PostHook { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_never_ends_has_a_time_limit() {
    let stalls = PreHook::boxed("stalls", |_| Box::pin(std::future::pending()));
    let world = World::with(vec![stalls.timeout(Duration::from_secs(5))], Vec::new());
    let error = world.run().await.unwrap_err();
    assert!(error.to_string().ends_with("timed out after 5000 ms"), "{error}");
    assert!(world.model.requests().is_empty());
}

#[tokio::test]
async fn what_a_model_does_wrong_is_typed_and_nothing_is_lost() {
    let partial = |error: Option<ModelError>| {
        let mut events = vec![Ok(ModelEvent::Text("half".to_owned()))];
        events.extend(error.map(Err));
        let center = LiveAgentCenter::builder().build();
        World::of(center, Scripted::default().then(events), Vec::new(), Vec::new())
    };
    for (script, expected) in [
        (Some(ModelError::Garbage("}{".to_owned())), ModelError::Garbage("}{".to_owned())),
        (Some(ModelError::Stalled(60_000)), ModelError::Stalled(60_000)),
        (None, ModelError::BrokenOff),
    ] {
        let error = partial(script).run().await.unwrap_err();
        let RunError::Model { error, run } = error else { panic!("{error:?}") };
        assert_eq!(error, expected);
        assert!(matches!(run.status, RunStatus::Failed(_)));
        assert_eq!(run.messages.len(), 1, "what was asked is there");
    }
}

#[tokio::test]
async fn a_run_can_be_cancelled_and_gone_on_with() {
    let model = Scripted::default()
        .then_calls("c1", "missing", "{}")
        .then(Vec::new())
        .then_says("done at last");
    let center = LiveAgentCenter::builder().build();
    let log = model.log.clone();
    let seen = log.clone();
    let hook = PreHook::boxed("seen", move |_| {
        seen.add("hook");
        Box::pin(async { Ok(()) })
    });
    let world = World::of(center, model, vec![hook], Vec::new());
    let cancel = Cancel::default();
    cancel.cancel();
    let request = RunRequest::new(world.session.clone(), "hi").cancel(cancel);
    let error = world.center.run(request).await.unwrap_err();
    assert!(matches!(&error, RunError::Cancelled { run } if run.status == RunStatus::Cancelled));
    assert!(world.model.requests().is_empty());

    let RunError::Model { run, .. } = world.run().await.unwrap_err() else { panic!() };
    assert_eq!(run.tool_calls.len(), 1);
    let run = world.center.run(RunRequest::resume(*run)).await.unwrap();
    assert_eq!((run.output.as_str(), run.tool_calls.len()), ("done at last", 1));
    assert_eq!(log.entries().iter().filter(|entry| *entry == "hook").count(), 3, "hooks run again");
}

#[tokio::test]
async fn a_stream_shows_what_happens_and_is_cancelled_by_dropping_it() {
    let world = World::with(Vec::new(), Vec::new());
    let mut stream = world.center.stream_agent(RunRequest::new(world.session.clone(), "hi"));
    let mut shown = Vec::new();
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            RunEvent::Piece(piece) => shown.push(format!("{piece:?}")),
            RunEvent::Done(run) => shown.push(run.output),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(shown, ["Text(\"hello \")", "Text(\"there\")", "hello there"]);
    assert!(stream.next().await.is_none());

    let dropped = world.center.stream_agent(RunRequest::new(world.session.clone(), "hi"));
    drop(dropped);
}

#[tokio::test]
async fn an_error_comes_at_the_end_of_a_stream() {
    let refuses = PreHook::boxed("refuses", |_| Box::pin(async { Err("no".into()) }));
    let world = World::with(vec![refuses], Vec::new());
    let mut stream = world.center.stream_agent(RunRequest::new(world.session.clone(), "hi"));
    assert!(matches!(stream.next().await, Some(Err(RunError::PreHook { .. }))));
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn stream_hooks_change_and_stop_what_is_streamed() {
    let world = World::with(Vec::new(), Vec::new());
    let shout =
        StreamHook::new("shout", || Box::new(|piece| StreamStep::Change(piece.to_uppercase())));
    world.center.register_stream_hook(shout, IfTaken::Refuse).unwrap();
    let mut stream = world.center.stream_agent(RunRequest::new(world.session.clone(), "hi"));
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event.unwrap());
    }
    let Some(RunEvent::Done(run)) = last else { panic!("{last:?}") };
    assert_eq!(run.output, "HELLO THERE", "the run is what was shown");

    let world = World::with(Vec::new(), Vec::new());
    let stops = StreamHook::new("stops", || Box::new(|_| StreamStep::Stop("enough".to_owned())));
    world.center.register_stream_hook(stops.guardrail(), IfTaken::Refuse).unwrap();
    let mut stream = world.center.stream_agent(RunRequest::new(world.session.clone(), "hi"));
    let Some(Err(RunError::Stopped { hook, reason, run })) = stream.next().await else { panic!() };
    assert_eq!((hook.as_str(), reason.as_str()), ("stops", "enough"));
    assert!(matches!(run.status, RunStatus::Failed(_)));
}

#[tokio::test]
async fn what_hooks_do_is_counted() {
    let panics = PostHook::boxed("panics", |_, _| Box::pin(async { panic!("on purpose") }));
    let passes = PreHook::boxed("passes", |_| Box::pin(async { Ok(()) }));
    let skipped = PreHook::boxed("skipped", |_| Box::pin(async { Ok(()) })).only_if(|_| false);
    let world = World::with(vec![passes, skipped], vec![panics.in_background()]);
    world.run().await.unwrap();
    world.center.wait_for_background_hooks().await;
    let metrics = world.center.metrics().snapshot();
    let mut counts: Vec<(String, u64, u64)> =
        metrics.iter().map(|hook| (hook.hook.clone(), hook.count, hook.panics)).collect();
    counts.sort();
    assert_eq!(counts, [("panics".to_owned(), 1, 1), ("passes".to_owned(), 1, 0)]);
}

/// A condition that panics is that hook's failure.
#[tokio::test]
async fn a_condition_that_panics() {
    let hook = PreHook::boxed("hook", |_| Box::pin(async { Ok(()) })).only_if(|_| panic!("in it"));
    let error = World::with(vec![hook], Vec::new()).run().await.unwrap_err();
    assert!(error.to_string().ends_with("it panicked: in it"), "{error}");
}
