//! What hooks are shown, and what they pass on.

use anyhook_sdk::agent::{AgentCenter, LiveAgentCenter, Message, PostHook, PreHook};
use serde_json::json;

use crate::{Log, Scripted, World, text};

#[tokio::test]
async fn the_context_is_the_runs() {
    let log = Log::default();
    let told = log.clone();
    let hook = PreHook::boxed("look", move |context| {
        told.add(format!(
            "{} {} {} {}",
            context.agent.id,
            context.session.session_id,
            context.user_message,
            context.metadata.len()
        ));
        Box::pin(async { Ok(()) })
    });
    World::with(vec![hook], Vec::new()).run().await.unwrap();
    assert_eq!(log.entries(), ["a s hi 0"]);
}

#[tokio::test]
async fn a_rewritten_message_and_metadata_reach_all_that_come_later() {
    let rewrite = PreHook::boxed("rewrite", |context| {
        context.user_message.push_str(", please");
        context.metadata.insert("seen".to_owned(), json!("by rewrite"));
        Box::pin(async { Ok(()) })
    });
    let log = Log::default();
    let (later, aside, after) = (log.clone(), log.clone(), log.clone());
    let read = PreHook::boxed("read", move |context| {
        later.add(format!("pre {} {}", context.user_message, text(&context.metadata["seen"])));
        Box::pin(async { Ok(()) })
    });
    let background = PreHook::boxed("aside", move |context| {
        aside.add(format!("aside {}", context.user_message));
        context.user_message.clear();
        Box::pin(async { Ok(()) })
    })
    .in_background();
    let post = PostHook::boxed("post", move |context, run| {
        after.add(format!("post {} {}", context.user_message, text(&run.metadata["seen"])));
        Box::pin(async { Ok(()) })
    });
    let world = World::with(vec![rewrite, background, read], vec![post]);
    world.run().await.unwrap();
    world.center.wait_for_background_hooks().await;
    let mut entries = log.entries();
    entries.sort();
    assert_eq!(
        entries,
        ["aside hi, please", "post hi, please by rewrite", "pre hi, please by rewrite"]
    );
    assert_eq!(world.model.requests()[0].messages, [Message::user("hi, please")]);
    assert_eq!(world.model.requests()[0].instructions, "be brief");
}

#[tokio::test]
async fn history_is_told_when_it_is_asked_for() {
    let model = Scripted::saying("one").then_says("two").then_says("three");
    let shout = PostHook::boxed("shout", |_, run| {
        run.output = run.output.to_uppercase();
        Box::pin(async { Ok(()) })
    });
    let center = LiveAgentCenter::builder().build();
    let world = World::of(center, model, Vec::new(), vec![shout]);
    let run = |message: &'static str, history: bool| {
        let (center, session) = (world.center.clone(), world.session.clone());
        async move { center.run_agent(&session, message, history).await.unwrap() }
    };
    run("first", true).await;
    run("second", true).await;
    run("third", false).await;
    let requests = world.model.requests();
    assert_eq!(
        requests[1].messages,
        [Message::user("first"), Message::assistant("ONE"), Message::user("second")],
        "as the hooks have left it"
    );
    assert_eq!(requests[2].messages, [Message::user("third")]);
}
