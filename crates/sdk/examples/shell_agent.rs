//! A full agent with a shell: a HOOK.md hook blocks a command, a function changes another, and the
//! model is told. Everything is in the journal, as with any other agent.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::Arc;

use anyhook_sdk::agent::{
    Agent, AgentCenter, FunctionTool, IfTaken, LiveAgentCenter, Message, ScriptedModel,
    SessionContext, ToolError,
};
use anyhook_sdk::{Decision, FunctionHook, Hooks, scratch_places};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Shell {
    /// The command, for `sh -c`.
    command: String,
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    // A hook as any user has it: a folder with a HOOK.md and a script.
    let guard = scratch.path().join("config/agents/hooks/no-mkfs");
    fs::create_dir_all(guard.join("scripts"))?;
    fs::write(
        guard.join("HOOK.md"),
        "---\nname: no-mkfs\ndescription: Disks are not formatted here\ntrigger: before_tool\nmatcher:\n  tool: Shell\n  pattern: mkfs\n---\n",
    )?;
    let script = guard.join("scripts/run");
    fs::write(&script, "#!/bin/sh\necho 'ask the administrator' >&2\nexit 2\n")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;

    // And one of our own. A real agent takes its places from the environment: `Places::discover()`.
    let hooks = Hooks::builder("shell-agent")
        .places(scratch_places(scratch.path()))
        .work_dir(scratch.path())
        .hook(FunctionHook::before_tool("no-colours", async |event| {
            let listing = event.tool_text("command").filter(|command| *command == "ls");
            Ok(Decision {
                modified_input: listing
                    .and_then(|_| json!({"command": "ls --color=never"}).as_object().cloned()),
                ..Decision::default()
            })
        }))
        .build()?;

    let shell = FunctionTool::new("Shell", "Runs a command", async |call: Shell| {
        let output = tokio::task::spawn_blocking(move || {
            std::process::Command::new("sh")
                .args(["-c", &call.command])
                .stdin(Stdio::null())
                .output()
        });
        let output = output.await.map_err(|error| ToolError::Failed(error.to_string()))?;
        let output = output.map_err(|error| ToolError::Failed(error.to_string()))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    });
    // In place of a provider: see the feature `openai` for a real one.
    let model = ScriptedModel::new()
        .calls("Shell", &json!({"command": "mkfs /dev/sda"}))
        .calls("Shell", &json!({"command": "ls"}))
        .says("I may not format disks, so I only looked around.");
    let center = LiveAgentCenter::builder().hooks(Arc::new(hooks)).step_limit(10).build();
    center.register_model("model", Arc::new(model.clone()), IfTaken::Refuse)?;
    center.register_tool(Arc::new(shell), IfTaken::Refuse)?;
    let agent = Agent::new("operator", "model").instructions("You run commands.").tools(["Shell"]);
    center.register_agent(agent, IfTaken::Refuse)?;

    let session = SessionContext::new("operator", "session-1");
    let run = center.run_agent(&session, "format the disk", false).await?;
    for call in &run.tool_calls {
        println!("{} {} denied: {}", call.name, call.input, call.denied);
    }
    println!("{}", run.output);
    assert!(run.tool_calls[0].denied && !run.tool_calls[1].denied);
    assert_eq!(run.tool_calls[1].input["command"], "ls --color=never");
    let told = &model.requests()[1].messages;
    let Some(Message::Tool { text, .. }) = told.last() else { return Err("not told".into()) };
    assert!(text.contains("ask the administrator"), "{text}");
    Ok(())
}
