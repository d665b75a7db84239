//! What servers do right: tools, results, hooks, names.

use std::sync::{Arc, Mutex};

use anyhook_sdk::agent::{
    Agent, AgentCenter, FunctionTool, IfTaken, LiveAgentCenter, RegisterError,
};
use anyhook_sdk::{Decision, FunctionHook, Hooks, scratch_places};
use serde_json::{Value, json};

use crate::{World, wait_until_gone};

#[tokio::test]
async fn tools_are_offered_with_their_schemas_and_called() {
    let world = World::new("normal");
    assert!(world.processes().is_empty(), "nobody needs it yet");
    let made = world.call("echo", json!({"text": "grüß dich"})).await;
    assert_eq!(made.result, Ok(json!("you said\ngrüß dich")));
    assert_eq!(made.name, "mcp__s__echo");
    let tools = world.model.requests.lock().unwrap()[0].tools.clone();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.trim_start_matches("mcp__s__")).collect();
    let listed = ["echo", "add", "fail", "refuse", "slow", "die", "garbage", "huge"];
    assert_eq!(names, [&listed[..], &["with_dots", "where"]].concat(), "all pages, in order");
    assert_eq!(tools[0].description, "does echo");
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    assert_eq!(tools[0].schema, schema);
    let structured = world.call("add", json!({})).await;
    assert_eq!(structured.result, Ok(json!({"sum": 5})));
    let dotted = world.call("with_dots", json!({})).await;
    assert_eq!(dotted.result, Ok(json!("with.dots")), "the server knows it by its own name");
}

#[tokio::test]
async fn what_a_tool_does_wrong_the_model_is_told() {
    let world = World::new("normal");
    assert_eq!(world.failure("fail").await, "no such city");
    assert_eq!(world.failure("refuse").await, "not like that");
    assert_eq!(world.failure("missing").await, "there is no tool `mcp__s__missing`");
    let made = world.call("echo", json!([1])).await;
    assert_eq!(made.result.unwrap_err(), "invalid arguments: they are not an object");
    assert_eq!(world.processes().len(), 1, "the server is kept");
}

#[tokio::test]
async fn variables_and_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let world = World::of("normal", LiveAgentCenter::builder(), |server| {
        server.env("TOKEN", "secret").work_dir(&path)
    });
    let made = world.call("where", json!({})).await;
    assert_eq!(made.result, Ok(json!(format!("{}\nsecret", path.display()))));
    let shown = format!("{:?}", world.server("normal").env("TOKEN", "secret"));
    assert!(shown.contains("TOKEN") && !shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn hooks_are_asked_about_calls() {
    let scratch = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let teller = told.clone();
    let deny = FunctionHook::before_tool("no-mcp", |_| {
        Box::pin(async { Ok(Decision::deny("not this server")) })
    });
    let after = FunctionHook::after_tool("after", move |event| {
        teller.lock().unwrap().push(event.tool.as_ref().unwrap().name.clone());
        Box::pin(async { Ok(Decision::default()) })
    });
    let hooks = Hooks::builder("tester")
        .places(scratch_places(scratch.path()))
        .work_dir(scratch.path())
        .hook(deny.tool("mcp__.*").pattern("secret"))
        .hook(after.tool("mcp__s__.*"))
        .build()
        .unwrap();
    let builder = LiveAgentCenter::builder().hooks(Arc::new(hooks));
    let world = World::of("normal", builder, |server| server);
    let denied = world.call("echo", json!({"text": "the secret"})).await;
    assert!(denied.denied);
    assert_eq!(denied.result, Err("not this server".to_owned()));
    let made = world.call("echo", json!({"text": "hello"})).await;
    assert_eq!(made.result, Ok(json!("you said\nhello")));
    assert_eq!(*told.lock().unwrap(), ["mcp__s__echo"]);
}

#[tokio::test]
async fn two_agents_share_one_server() {
    let world = World::new("normal");
    let (first, second) = tokio::join!(world.run("a"), world.run("b"));
    first.unwrap();
    second.unwrap();
    world.run("b").await.unwrap();
    assert_eq!(world.processes().len(), 1);
}

#[tokio::test]
async fn names_of_servers() {
    let world = World::new("normal");
    let agent = Agent::new("c", "m").mcp_servers(["s", "t"]);
    let error = world.center.register_agent(agent, IfTaken::Refuse).unwrap_err();
    let unknown =
        RegisterError::Unknown { agent: "c".to_owned(), kind: "MCP server", name: "t".to_owned() };
    assert_eq!(error, unknown);
    let register =
        |name, if_taken| world.center.register_mcp_server(name, world.server("normal"), if_taken);
    let taken = RegisterError::Taken { kind: "MCP server", name: "s".to_owned() };
    assert_eq!(register("s", IfTaken::Refuse), Err(taken));
    assert_eq!(register("", IfTaken::Refuse), Err(RegisterError::NoName("MCP server")));

    world.run("a").await.unwrap();
    register("s", IfTaken::Replace).unwrap();
    wait_until_gone(&world.processes()[0].0);
    world.run("a").await.unwrap();
    assert_eq!(world.processes().len(), 2);
}

#[tokio::test]
async fn a_registered_tool_goes_before_one_of_a_server() {
    let world = World::new("normal");
    let own = FunctionTool::new("mcp__s__echo", "is ours", |_: Value| {
        Box::pin(async { Ok("ours".to_owned()) })
    });
    world.center.register_tool(Arc::new(own), IfTaken::Refuse).unwrap();
    let agent = Agent::new("a", "m").tools(["mcp__s__echo"]).mcp_servers(["s", "s"]);
    world.center.register_agent(agent, IfTaken::Replace).unwrap();
    assert_eq!(world.call("echo", json!({})).await.result, Ok(json!("ours")));
    let tools = world.model.requests.lock().unwrap()[0].tools.clone();
    let mut names: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
    assert_eq!(names.len(), 10);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 10, "no name twice");
}
