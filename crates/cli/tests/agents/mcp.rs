//! The real agents read what waits for a person with `anyhook mcp`, as the guide connects it, and
//! answer nothing with it.

use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::write;
use serde_json::{Value, json};

use crate::environment;

/// The call about which another agent asks.
const COMMAND: &str = "git push --force origin release";

/// An agent with the server, in whose environment decisions wait for a person.
struct Scene {
    bed: AgentSandbox,
    program: String,
}

impl Scene {
    fn set(agent: Agent) -> Option<Self> {
        let bed = AgentSandbox::within(environment(), agent)?;
        let settings = "[decisions]\nwait = [\"permission\"]\nwait_seconds = 600\n";
        write(&bed.home().join(".config/agents/anyhook.toml"), settings, 0o644);
        let payload = json!({
            "session_id": "other", "cwd": bed.project(), "hook_event_name": "PermissionRequest",
            "tool_name": "Bash", "tool_input": {"command": COMMAND},
        });
        write(&bed.project().join("asked.json"), payload.to_string(), 0o644);
        let program = bed.environment().command(&[]).get_program().to_str().unwrap().to_owned();
        Some(Self { bed, program })
    }

    /// Another agent asks, and waits. Its daemon has to be in the agent's own sandbox.
    fn ask(&self) -> ModelTurn {
        let program = &self.program;
        self.bed.shell_tool(&format!(
            "setsid -f {program} hook claude-code < asked.json > told.json 2>&1; \
             until {program} decision list --exit-code > before.txt; do sleep 0.1; done"
        ))
    }

    fn look_again(&self) -> ModelTurn {
        self.bed.shell_tool(&format!("{} decision list --json > after.json", self.program))
    }

    /// Plays the turns, in which the call of the tool is the one with this number; its result tells
    /// the model what waits, and it waits on.
    fn play(&self, turns: Vec<ModelTurn>, call: usize) {
        let outcome = self.bed.run("what waits for me?", turns);
        assert_eq!(outcome.exit_code, 0, "{outcome:#?}");
        assert!(!outcome.told(call, COMMAND), "{outcome:#?}");
        assert!(outcome.told(call + 1, COMMAND), "{outcome:#?}");
        // Not a word about the schemas, either.
        assert!(!outcome.stderr.contains("schema"), "{outcome:#?}");
        let after = std::fs::read_to_string(self.bed.project().join("after.json")).unwrap();
        let after: Value = serde_json::from_str(&after).unwrap();
        assert_eq!(after[0]["inquiry"]["about"], COMMAND, "{after:#}");
        assert!(after[0].get("resolution").is_none(), "{after:#}");
    }
}

#[test]
fn read_by_claude_code() {
    let Some(mut scene) = Scene::set(Agent::ClaudeCode) else { return };
    let server = json!({"command": scene.program, "args": ["mcp"]});
    let servers = json!({"mcpServers": {"anyhook": server}}).to_string();
    for argument in ["--strict-mcp-config", "--mcp-config", &servers] {
        scene.bed.add_argument(argument);
    }
    let name = "mcp__anyhook__list_decisions";
    let turns = vec![
        scene.ask(),
        // Tools of servers are loaded when they are looked for.
        ModelTurn::tool("ToolSearch", json!({"query": format!("select:{name}")})),
        ModelTurn::tool(name, json!({})),
        scene.look_again(),
        ModelTurn::text("a push waits"),
    ];
    scene.play(turns, 2);
}

/// It offers tools of servers only by a search that the scripted model cannot do, but tells of the
/// server, in the server's words, once it has connected and listed the tools.
#[test]
fn told_of_by_codex() {
    let Some(mut scene) = Scene::set(Agent::Codex) else { return };
    let program = format!("mcp_servers.anyhook.command='{}'", scene.program);
    for setting in [&program, "mcp_servers.anyhook.args=['mcp']"] {
        scene.bed.add_argument("--config");
        scene.bed.add_argument(setting);
    }
    let outcome = scene.bed.run("what waits for me?", vec![ModelTurn::text("nothing")]);
    assert_eq!(outcome.exit_code, 0, "{outcome:#?}");
    assert!(outcome.told(0, "These tools read it; none changes anything."), "{outcome:#?}");
}
