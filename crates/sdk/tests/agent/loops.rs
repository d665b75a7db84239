//! The agent's own loop: tools, typed answers, limits, and HOOK.md hooks around its calls.

use std::sync::Arc;

use anyhook_sdk::agent::{
    Agent, AgentCenter, FunctionTool, IfTaken, LiveAgentCenter, LiveAgentCenterBuilder, Message,
    RunError, RunRequest, SessionContext, ToolError,
};
use anyhook_sdk::{Decision, EventKind, FunctionHook, Hooks, scratch_places};
use anyhook_testkit::write;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Scripted;

#[derive(Deserialize, JsonSchema)]
struct ShellArguments {
    /// What to run.
    command: String,
}

/// A center with a tool `Shell` that only repeats the command.
fn center(builder: LiveAgentCenterBuilder, model: &Scripted) -> LiveAgentCenter {
    let center = builder.build();
    center.register_model("m", Arc::new(model.clone()), IfTaken::Refuse).unwrap();
    let shell = FunctionTool::new("Shell", "Runs a command", |arguments: ShellArguments| {
        Box::pin(async move {
            match arguments.command.as_str() {
                "false" => Err(ToolError::Failed("exit 1".to_owned())),
                "panic" => panic!("in the tool"),
                "stall" => std::future::pending().await,
                command => Ok(format!("ran {command}")),
            }
        })
    });
    center.register_tool(Arc::new(shell), IfTaken::Refuse).unwrap();
    center.register_agent(Agent::new("a", "m").tools(["Shell"]), IfTaken::Refuse).unwrap();
    center
}

fn session() -> SessionContext {
    SessionContext::new("a", "s")
}

fn told(message: &Message) -> &str {
    match message {
        Message::Tool { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_tool_is_called_and_the_model_is_told() {
    let model =
        Scripted::default().then_calls("c1", "Shell", r#"{"command": "ls"}"#).then_says("all done");
    let center = center(LiveAgentCenter::builder(), &model);
    let run = center.run_agent(&session(), "list", false).await.unwrap();
    assert_eq!(run.output, "all done");
    assert_eq!(run.tool_calls[0].result, Ok(json!("ran ls")));
    let requests = model.requests();
    assert_eq!(told(requests[1].messages.last().unwrap()), "ran ls");
    let schema = &requests[0].tools[0].schema;
    assert_eq!(schema["properties"]["command"]["description"], "What to run.");
}

#[tokio::test(start_paused = true)]
async fn whatever_a_call_does_wrong_the_model_is_told() {
    for (name, arguments, expected) in [
        ("Shell", r#"{"command": 5}"#, "error: invalid arguments: invalid type"),
        ("Shell", "{}", "error: invalid arguments: missing field `command`"),
        ("Shell", "{\"command\"", "error: invalid arguments: they are not JSON"),
        ("Shell", r#"{"command": "false"}"#, "error: exit 1"),
        ("Shell", r#"{"command": "panic"}"#, "error: it panicked: in the tool"),
        ("Shell", r#"{"command": "stall"}"#, "error: it took longer than 600000 ms"),
        ("Missing", "{}", "error: there is no tool `Missing`"),
    ] {
        let model = Scripted::default().then_calls("c1", name, arguments).then_says("well");
        let center = center(LiveAgentCenter::builder(), &model);
        let run = center.run_agent(&session(), "go", false).await.unwrap();
        assert!(run.tool_calls[0].result.is_err());
        let requests = model.requests();
        let text = told(requests[1].messages.last().unwrap());
        assert!(text.starts_with(expected), "{arguments}: {text}");
    }
}

#[tokio::test]
async fn there_is_a_step_limit() {
    let call = |model: Scripted, _| model.then_calls("c", "Shell", r#"{"command": "ls"}"#);
    let model = (0..5).fold(Scripted::default(), call);
    let center = center(LiveAgentCenter::builder().step_limit(3), &model);
    let error = center.run_agent(&session(), "go", false).await.unwrap_err();
    let RunError::TooManySteps { limit, run } = error else { panic!("{error:?}") };
    assert_eq!((limit, model.requests().len(), run.messages.len()), (3, 3, 6));
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct City {
    name: String,
    people: u64,
}

#[tokio::test]
async fn an_answer_is_read_as_a_type() {
    let model = Scripted::saying("```json\n{\"name\": \"Ulm\", \"people\": 126000}\n```")
        .then_says("I do not know");
    let center = center(LiveAgentCenter::builder(), &model);
    let ask = || center.run_as::<City>(RunRequest::new(session(), "a city"));
    let (city, run) = ask().await.unwrap();
    assert_eq!(city, City { name: "Ulm".to_owned(), people: 126_000 });
    assert!(run.output.contains("Ulm"));
    let schema = model.requests()[0].answer_schema.clone().unwrap();
    assert_eq!(schema["required"], json!(["name", "people"]));
    let error = ask().await.unwrap_err();
    let RunError::Answer { run, .. } = error else { panic!("{error:?}") };
    assert_eq!(run.output, "I do not know", "nothing is lost");
}

/// HOOK.md hooks and functions around the calls of an agent: one plan, one journal.
#[tokio::test]
async fn hooks_of_both_kinds_around_the_calls() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("config/agents/hooks/no-mkfs");
    write(
        &folder.join("HOOK.md"),
        "---\nname: no-mkfs\ndescription: no mkfs\ntrigger: before_tool\nmatcher:\n  tool: Shell\n  pattern: mkfs\n---\n",
        0o644,
    );
    write(
        &folder.join("scripts/run"),
        "#!/bin/sh\necho 'not on this machine' >&2\nexit 2\n",
        0o755,
    );
    let rewrite = FunctionHook::before_tool("careful", |event| {
        Box::pin(async move {
            let careful = event.tool_text("command").filter(|command| command.starts_with("rm "));
            Ok(Decision {
                modified_input: careful
                    .map(|command| json!({"command": command.replace("rm ", "rm -i ")}))
                    .and_then(|input| input.as_object().cloned()),
                ..Decision::default()
            })
        })
    });
    let after = FunctionHook::after_tool("reviewer", |_| {
        Box::pin(async {
            Ok(Decision { additional_context: Some("check it".to_owned()), ..Decision::default() })
        })
    });
    let hooks = Hooks::builder("tester")
        .places(scratch_places(scratch.path()))
        .work_dir(scratch.path())
        .hook(rewrite)
        .hook(after)
        .build()
        .unwrap();
    let model = Scripted::default()
        .then_calls("c1", "Shell", r#"{"command": "mkfs /dev/sda"}"#)
        .then_calls("c2", "Shell", r#"{"command": "rm x"}"#)
        .then_says("done");
    let center = center(LiveAgentCenter::builder().hooks(Arc::new(hooks)), &model);
    let run = center.run_agent(&session(), "format it", false).await.unwrap();
    assert!(run.tool_calls[0].denied);
    assert_eq!(run.tool_calls[1].input, json!({"command": "rm -i x"}));
    let requests = model.requests();
    assert!(told(&requests[1].messages[2]).contains("not on this machine"));
    assert_eq!(told(&requests[2].messages[4]), "ran rm -i x\n\ncheck it");

    let mut events = Vec::new();
    anyhook_engine::journal::Journal::new(&scratch.path().join("state/anyhook"))
        .reader()
        .read_on(&mut |record| events.push((record.event.to_string(), record.verdict.word())))
        .unwrap();
    let expected = [
        ("session_start", "none"),
        ("before_agent", "none"),
        ("before_tool", "deny"),
        ("before_tool", "none"),
        ("after_tool", "none"),
        ("before_stop", "none"),
        ("after_agent", "none"),
        ("after_stop", "none"),
    ];
    assert_eq!(events, expected.map(|(event, verdict)| (event.to_owned(), verdict)));
}

#[tokio::test]
async fn a_stop_gate_sends_the_agent_back_and_a_prompt_can_be_blocked() {
    let gate = FunctionHook::new("gate", &[EventKind::BeforeStop], |event| {
        Box::pin(async move {
            let message = event.data.get("final_message").and_then(|value| value.as_str());
            Ok(if message == Some("tests pass") {
                Decision::default()
            } else {
                Decision::deny("run the tests")
            })
        })
    });
    let prompt = FunctionHook::new("prompt", &[EventKind::BeforeAgent], |event| {
        Box::pin(async move {
            let prompt = event.data.get("prompt").and_then(|value| value.as_str()).unwrap_or("");
            Ok(if prompt.contains("secret") {
                Decision::deny("not that")
            } else {
                Decision::default()
            })
        })
    });
    let hooks = Hooks::builder("tester").hook(gate).hook(prompt).build().unwrap();
    let model = Scripted::saying("done").then_says("tests pass");
    let center = center(LiveAgentCenter::builder().hooks(Arc::new(hooks)), &model);
    let run = center.run_agent(&session(), "do it", false).await.unwrap();
    assert_eq!(run.output, "tests pass");
    assert_eq!(model.requests()[1].messages.last(), Some(&Message::user("run the tests")));
    let error = center.run_agent(&session(), "the secret", false).await.unwrap_err();
    assert!(matches!(&error, RunError::Blocked(reason) if reason == "not that"), "{error:?}");
}
