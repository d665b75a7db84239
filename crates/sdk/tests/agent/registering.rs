//! Names: unknown ones, ones that are taken, and `replace`.

use std::sync::Arc;

use anyhook_sdk::agent::{
    Agent, AgentCenter, IfTaken, LiveAgentCenter, PostHook, PreHook, RegisterError, RunError,
    SessionContext,
};

use crate::{Log, Scripted, World, noting, noting_after};

#[test]
fn all_an_agent_names_must_be_there() {
    let center = LiveAgentCenter::builder().build();
    let register = |agent: Agent| center.register_agent(agent, IfTaken::Refuse).unwrap_err();
    let unknown = |kind, name: &str| RegisterError::Unknown {
        agent: "a".to_owned(),
        kind,
        name: name.to_owned(),
    };
    assert_eq!(register(Agent::new("a", "m")), unknown("model", "m"));
    center.register_model("m", Arc::new(Scripted::default()), IfTaken::Refuse).unwrap();
    let agent = || Agent::new("a", "m");
    assert_eq!(register(agent().tools(["t"])), unknown("tool", "t"));
    assert_eq!(register(agent().pre_hooks(["p"])), unknown("pre-hook", "p"));
    assert_eq!(register(agent().post_hooks(["q"])), unknown("post-hook", "q"));
    assert_eq!(register(agent().mcp_servers(["s"])), unknown("MCP server", "s"));
    assert!(center.agent("a").is_none());
    assert_eq!(
        unknown("pre-hook", "p").to_string(),
        "the agent `a` refers to the pre-hook `p`, which is not registered"
    );
}

#[tokio::test]
async fn a_name_is_taken_once_unless_replaced() {
    let log = Log::default();
    let world = World::with(vec![noting(&log, "hook")], Vec::new());
    let center = &world.center;
    let refused = center.register_pre_hook(noting(&log, "hook"), IfTaken::Refuse).unwrap_err();
    assert_eq!(refused, RegisterError::Taken { kind: "pre-hook", name: "hook".to_owned() });
    let other: PreHook = PreHook::boxed("hook", |_| Box::pin(async { Err("replaced".into()) }));
    center.register_pre_hook(other, IfTaken::Replace).unwrap();
    let error = world.run().await.unwrap_err();
    assert!(error.to_string().ends_with("replaced"), "{error}");
    let post: PostHook = noting_after(&log, "");
    let nameless = center.register_post_hook(post, IfTaken::Refuse).unwrap_err();
    assert_eq!(nameless, RegisterError::NoName("post-hook"));
    assert!(center.pre_hook("hook").is_some() && center.post_hook("hook").is_none());
    assert_eq!(center.agent("a").unwrap().pre_hook_names, ["hook"]);
}

#[tokio::test]
async fn an_unknown_agent_is_an_error() {
    let world = World::with(Vec::new(), Vec::new());
    let session = SessionContext::new("nobody", "s");
    let error = world.center.run_agent(&session, "hi", false).await.unwrap_err();
    assert!(matches!(&error, RunError::UnknownAgent(name) if name == "nobody"), "{error:?}");
}

/// A hook may register hooks: those of later runs.
#[tokio::test]
async fn a_hook_that_registers_hooks() {
    let log = Log::default();
    let world = World::with(Vec::new(), Vec::new());
    let (center, note) = (Arc::downgrade(&world.center), log.clone());
    let hook = PreHook::boxed("registers", move |_| {
        let center = center.upgrade().unwrap();
        center.register_pre_hook(noting(&note, "made in a run"), IfTaken::Replace).unwrap();
        Box::pin(async { Ok(()) })
    });
    world.center.register_pre_hook(hook, IfTaken::Refuse).unwrap();
    let agent = Agent::new("a", "m").pre_hooks(["registers"]);
    world.center.register_agent(agent, IfTaken::Replace).unwrap();
    world.run().await.unwrap();
    assert!(log.entries().is_empty());
    assert!(world.center.pre_hook("made in a run").is_some());
}
