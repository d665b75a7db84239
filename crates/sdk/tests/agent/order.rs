//! Priority, conditions, and what `explain` says.

use anyhook_sdk::agent::PreHook;

use crate::pre::world;
use crate::{Log, noting};

#[tokio::test]
async fn by_priority_and_then_as_the_agent_names_them() {
    let log = Log::default();
    let hooks = vec![
        noting(&log, "c"),
        noting(&log, "b").priority(500),
        noting(&log, "d"),
        noting(&log, "a").priority(900),
    ];
    let world = world(&log, hooks);
    world.run().await.unwrap();
    assert_eq!(log.entries(), ["a", "b", "c", "d", "model"]);
    let plan = world.center.explain_agent("a").unwrap();
    let names: Vec<&str> = plan.iter().map(|hook| hook.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert!(world.center.explain_agent("nobody").is_none());
}

#[tokio::test]
async fn only_where_the_condition_holds() {
    let log = Log::default();
    let shouting = |context: &anyhook_sdk::agent::HookContext| context.user_message == "HI";
    let refuses: PreHook = PreHook::boxed("refuses", |_| Box::pin(async { Err("no".into()) }));
    let world = world(&log, vec![refuses.only_if(shouting)]);
    world.run().await.unwrap();
    let session = &world.session;
    let shouted = anyhook_sdk::agent::AgentCenter::run_agent(&*world.center, session, "HI", false);
    assert!(shouted.await.is_err());
}
