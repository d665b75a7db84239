//! Background tasks: removed when done, waited for, cancelled, bounded, never leaked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhook_sdk::agent::{LiveAgentCenter, PreHook};

use crate::{Scripted, World};

struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A hook that never ends, and counts how many of it live.
fn endless(alive: &Arc<AtomicUsize>) -> PreHook {
    let alive = alive.clone();
    PreHook::boxed("endless", move |_| {
        let counted = Counted::new(&alive);
        Box::pin(async move {
            let _counted = counted;
            std::future::pending().await
        })
    })
    .timeout(std::time::Duration::from_secs(3600))
    .in_background()
}

#[tokio::test]
async fn done_ones_are_off_the_list() {
    let quick = PreHook::boxed("quick", |_| Box::pin(async { Ok(()) })).in_background();
    let world = World::with(vec![quick], Vec::new());
    world.run().await.unwrap();
    world.center.wait_for_background_hooks().await;
    assert!(world.center.background().is_empty());
}

#[tokio::test]
async fn cancelled_ones_end() {
    let alive = Arc::new(AtomicUsize::new(0));
    let world = World::with(vec![endless(&alive)], Vec::new());
    world.run().await.unwrap();
    while alive.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    world.center.cancel_background_hooks();
    world.center.wait_for_background_hooks().await;
    while alive.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_center_that_is_dropped_leaves_nothing_behind() {
    let alive = Arc::new(AtomicUsize::new(0));
    let world = World::with(vec![endless(&alive)], Vec::new());
    world.run().await.unwrap();
    while alive.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    drop(world);
    while alive.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn there_is_a_bound() {
    let alive = Arc::new(AtomicUsize::new(0));
    let model = (0..5).fold(Scripted::default(), |model, _| model.then_says("hello"));
    let center = LiveAgentCenter::builder().background_hooks(2).build();
    let world = World::of(center, model, vec![endless(&alive)], Vec::new());
    for _ in 0..5 {
        world.run().await.unwrap();
    }
    assert_eq!(world.center.background().len(), 2);
}

/// A hundred thousand runs with hooks in the background: nothing is left, memory stays flat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_runs() {
    #[derive(Clone)]
    struct Echo;
    impl anyhook_sdk::agent::Model for Echo {
        fn ask(
            &self,
            _: anyhook_sdk::agent::ModelRequest,
        ) -> anyhook_sdk::BoxFuture<
            '_,
            Result<anyhook_sdk::agent::ModelStream, anyhook_sdk::agent::ModelError>,
        > {
            use anyhook_sdk::agent::{ModelEvent, StopReason};
            let events = [Ok(ModelEvent::Done(StopReason::Finished))];
            let stream: anyhook_sdk::agent::ModelStream =
                Box::pin(crate::Ready(events.into_iter().collect()));
            Box::pin(async move { Ok(stream) })
        }
    }
    use anyhook_sdk::agent::{Agent, AgentCenter, IfTaken, PostHook, RunRequest, SessionContext};

    let alive = Arc::new(AtomicUsize::new(0));
    let (before, after) = (alive.clone(), alive.clone());
    let center = Arc::new(LiveAgentCenter::builder().history(Arc::new(Forgetful)).build());
    center.register_model("echo", Arc::new(Echo), IfTaken::Refuse).unwrap();
    let pre = PreHook::boxed("pre", move |_| {
        let counted = Counted::new(&before);
        Box::pin(async move {
            let _counted = counted;
            tokio::task::yield_now().await;
            Ok(())
        })
    });
    let post = PostHook::boxed("post", move |_, _| {
        let counted = Counted::new(&after);
        Box::pin(async move {
            let _counted = counted;
            Ok(())
        })
    });
    center.register_pre_hook(pre.in_background(), IfTaken::Refuse).unwrap();
    center.register_post_hook(post.in_background(), IfTaken::Refuse).unwrap();
    let agent = Agent::new("a", "echo").pre_hooks(["pre"]).post_hooks(["post"]);
    center.register_agent(agent, IfTaken::Refuse).unwrap();
    let round = || async {
        for _ in 0..20_000 {
            let request = RunRequest::new(SessionContext::new("a", "s"), "hi");
            center.run(request).await.unwrap();
        }
        center.wait_for_background_hooks().await;
        assert!(center.background().is_empty());
        resident()
    };
    let warm = round().await;
    let mut last = warm;
    for _ in 0..4 {
        last = round().await;
    }
    while alive.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
    // A task that leaked would be a kilobyte each time: eighty megabytes.
    assert!(last < warm + 20_000, "{warm} KiB grew to {last} KiB");
}

/// Remembers nothing.
struct Forgetful;

impl anyhook_sdk::agent::History for Forgetful {
    fn load<'a>(
        &'a self,
        _: &'a anyhook_sdk::agent::SessionContext,
    ) -> anyhook_sdk::BoxFuture<'a, Result<Vec<anyhook_sdk::agent::Message>, anyhook_sdk::HookError>>
    {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn append<'a>(
        &'a self,
        _: &'a anyhook_sdk::agent::SessionContext,
        _: &'a [anyhook_sdk::agent::Message],
    ) -> anyhook_sdk::BoxFuture<'a, Result<(), anyhook_sdk::HookError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Returns how much memory this process has, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
