//! When sessions begin and end, and which events an agent tells by itself.

use std::sync::{Arc, Mutex};

use anyhook_sdk::agent::{
    Agent, AgentCenter, FunctionTool, IfTaken, LiveAgentCenter, SessionContext, ToolError,
};
use anyhook_sdk::{Decision, Effect, EventKind, FunctionHook, Hooks};
use serde_json::Value;

use crate::Scripted;

type Seen = Arc<Mutex<Vec<String>>>;

/// A center whose agent has a tool `Shell`, and hooks that note every event.
fn center(model: Scripted, more: Option<FunctionHook>) -> (LiveAgentCenter, Seen) {
    let events = [
        EventKind::SessionStart,
        EventKind::SessionEnd,
        EventKind::BeforeAgent,
        EventKind::AfterAgent,
        EventKind::BeforeStop,
        EventKind::AfterStop,
        EventKind::PermissionRequest,
    ];
    let seen = Seen::default();
    let noting = seen.clone();
    let watch = FunctionHook::new("watch", &events, move |event| {
        let word = |field: &str| event.data.get(field).and_then(Value::as_str).unwrap_or("");
        let more = [word("stop_reason"), word("exit_reason")].concat();
        let note = format!("{} {} {more}", event.session.as_deref().unwrap_or(""), event.kind);
        noting.lock().unwrap().push(note.trim_end().to_owned());
        std::future::ready(Ok(Decision::default()))
    });
    let hooks = Hooks::builder("tester").hook(watch.priority(900));
    let hooks = more.into_iter().fold(hooks, anyhook_sdk::HooksBuilder::hook).build().unwrap();
    let center = LiveAgentCenter::builder().hooks(Arc::new(hooks)).step_limit(2).build();
    center.register_model("m", Arc::new(model), IfTaken::Refuse).unwrap();
    let shell = FunctionTool::new("Shell", "Runs a command", async |_arguments: Value| {
        Ok::<_, ToolError>("ran")
    });
    center.register_tool(Arc::new(shell), IfTaken::Refuse).unwrap();
    center.register_agent(Agent::new("a", "m").tools(["Shell"]), IfTaken::Refuse).unwrap();
    (center, seen)
}

fn session(id: &str) -> SessionContext {
    SessionContext::new("a", id)
}

#[tokio::test]
async fn a_session_begins_once_and_ends_when_it_is_told_to() {
    let model = Scripted::saying("one").then_says("two").then_says("three").then_says("four");
    let (center, seen) = center(model, None);
    for id in ["s", "s", "t"] {
        center.run_agent(&session(id), "hi", true).await.unwrap();
    }
    center.end_session(&session("s"), "done").await;
    center.end_session(&session("s"), "done").await;
    center.run_agent(&session("s"), "hi", true).await.unwrap();
    center.shut_down().await;
    let seen = seen.lock().unwrap().clone();
    let sessions: Vec<&str> =
        seen.iter().map(String::as_str).filter(|note| note.contains("session_")).collect();
    assert_eq!(
        sessions,
        [
            "s session_start",
            "t session_start",
            "s session_end done",
            "s session_start",
            "s session_end shutdown",
            "t session_end shutdown",
        ]
    );
}

#[tokio::test]
async fn the_end_of_a_turn_is_told_with_its_reason() {
    let (center, seen) = center(Scripted::saying("hello"), None);
    center.run_agent(&session("s"), "hi", false).await.unwrap();
    assert_eq!(
        seen.lock().unwrap()[1..],
        [
            "s before_agent",
            "s before_stop no_tool_calls",
            "s after_agent",
            "s after_stop no_tool_calls"
        ]
    );
}

#[tokio::test]
async fn an_agent_that_may_not_go_on_has_stopped() {
    let call = |model: Scripted, _| model.then_calls("c", "Shell", "{}");
    let (center, seen) = center((0..3).fold(Scripted::default(), call), None);
    center.run_agent(&session("s"), "hi", false).await.unwrap_err();
    assert_eq!(
        seen.lock().unwrap()[1..],
        ["s before_agent", "s after_agent", "s after_stop max_steps"]
    );
}

/// A hook that wants a person to be asked, and one that may answer in the person's place.
#[tokio::test]
async fn a_permission_is_asked_for_and_may_be_granted() {
    for (answer, denied) in [(Some(Effect::Allow), false), (Some(Effect::Deny), true), (None, true)]
    {
        let both = [EventKind::BeforeTool, EventKind::PermissionRequest];
        let guard = FunctionHook::new("guard", &both, move |event| {
            let effect = match event.kind {
                EventKind::BeforeTool => Some(Effect::Ask),
                _ => answer,
            };
            std::future::ready(Ok(Decision { effect, ..Decision::default() }))
        });
        let model = Scripted::default().then_calls("c", "Shell", "{}").then_says("done");
        let (center, seen) = center(model, Some(guard));
        let run = center.run_agent(&session("s"), "hi", false).await.unwrap();
        assert_eq!(run.tool_calls[0].denied, denied, "{answer:?}");
        assert!(seen.lock().unwrap().contains(&"s permission_request".to_owned()));
    }
}

#[test]
fn models_and_tools_are_looked_up() {
    let (center, _) = center(Scripted::default(), None);
    assert!(center.model("m").is_some() && center.model("x").is_none());
    assert_eq!(center.tool("Shell").unwrap().describe().description, "Runs a command");
    assert!(center.tool("x").is_none());
}
