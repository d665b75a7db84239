//! Dialogs on the screens of the real agents: each is known, and the keys we find do what they say.

use std::time::{Duration, Instant};

use anyhook_hosts::dialog::{Dialog, KeyPacer};
use anyhook_model::Key;
use anyhook_testkit::agents::{AGENT_PATIENCE, Agent, AgentSandbox, AgentScreen};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::{wait_within, write};
use serde_json::json;

use crate::environment;

/// How long a key may take to change what is shown before it is pressed again.
const TIMEOUT: Duration = Duration::from_secs(1);

/// What comes when the agent ends.
const ENDED: &str = "its end";

/// An agent and its screen.
struct Stage {
    screen: AgentScreen,
    bed: AgentSandbox,
}

type Keys = fn(&Dialog) -> Option<&Vec<Key>>;

const ALLOW: Keys = |dialog| dialog.allow.as_ref();
const DENY: Keys = |dialog| dialog.deny.as_ref();

impl Stage {
    /// Opens an agent that was made ready; none if it cannot be run here.
    fn open(
        agent: Agent,
        prepare: impl FnOnce(&mut AgentSandbox),
        script: impl FnOnce(&AgentSandbox) -> Vec<ModelTurn>,
    ) -> Option<Self> {
        let mut bed = AgentSandbox::within(environment(), agent)?;
        prepare(&mut bed);
        let screen = bed.open(script(&bed))?;
        Some(Self { screen, bed })
    }

    fn shown(&self) -> Option<Dialog> {
        let agent = anyhook_hosts::find(self.bed.agent().name()).unwrap();
        agent.dialog(&self.screen.coloured_text())
    }

    /// Waits for a dialog.
    fn wait_for(&self, name: &str) -> Dialog {
        self.screen.wait_until(&format!("the dialog {name}"), |_| {
            self.shown().is_some_and(|dialog| dialog.name == name)
        });
        self.shown().unwrap()
    }

    /// Waits for a dialog and answers it, a key, another look, the next key, until there is another
    /// dialog or a text on the screen.
    fn answer(&self, name: &str, keys: Keys, then: &str) {
        let asked = self.wait_for(name);
        let mut pacer = KeyPacer::new(TIMEOUT);
        self.screen.wait_until(&format!("{then} after {name}"), |text| {
            let dialog = self.shown();
            let is_next = dialog.as_ref().is_some_and(|dialog| dialog.name == then);
            let has_ended = then == ENDED && self.screen.exit_code().is_some();
            if text.contains(then) || is_next || has_ended {
                return true;
            }
            // Another one of that name may be there already, and is not to be answered.
            if let Some(dialog) = dialog.filter(|dialog| dialog.is_same(&asked))
                && pacer.may_press(&dialog, Instant::now())
            {
                self.screen.press(&keys(&dialog).unwrap()[0].name());
            }
            false
        });
    }

    fn has(&self, file: &str) -> bool {
        self.bed.project().join(file).exists()
    }
}

/// The first day with Claude Code, but for what needs the network.
fn claude_code() -> Option<Stage> {
    let prepare = |bed: &mut AgentSandbox| {
        bed.be_first_day();
        bed.add_argument("--dangerously-skip-permissions");
        let known = json!({"hasCompletedOnboarding": true, "theme": "dark"});
        write(&bed.home().join(".claude.json"), known.to_string(), 0o600);
        let servers = json!({"mcpServers": {"demo": {"command": "true"}}});
        write(&bed.project().join(".mcp.json"), servers.to_string(), 0o644);
    };
    Stage::open(Agent::ClaudeCode, prepare, |_| Vec::new())
}

#[test]
fn claude_code_is_let_in() {
    let Some(stage) = claude_code() else { return };
    let trust = stage.wait_for("trust");
    assert_eq!(trust.about.as_deref(), stage.bed.project().to_str());
    stage.answer("trust", ALLOW, "mcp_server");
    stage.answer("mcp_server", DENY, "api_key");
    stage.answer("api_key", ALLOW, "bypass_permissions");
    stage.answer("bypass_permissions", ALLOW, "bypass permissions on");
    assert_eq!(stage.shown(), None);
}

#[test]
fn claude_code_is_sent_away() {
    let Some(stage) = claude_code() else { return };
    stage.answer("trust", DENY, ENDED);
}

#[test]
fn claude_code_is_not_let_do_as_it_likes() {
    let Some(stage) = claude_code() else { return };
    stage.answer("trust", ALLOW, "mcp_server");
    stage.answer("mcp_server", ALLOW, "api_key");
    stage.answer("api_key", ALLOW, "bypass_permissions");
    stage.answer("bypass_permissions", DENY, ENDED);
}

/// The first day with Codex, with a hook that nobody has trusted.
fn codex() -> Option<Stage> {
    let prepare = |bed: &mut AgentSandbox| {
        bed.be_first_day();
        let handler = json!({"type": "command", "command": "true"});
        let hooks = json!({"hooks": {"Stop": [{"hooks": [handler]}]}});
        write(&bed.home().join(".codex/hooks.json"), hooks.to_string(), 0o644);
    };
    Stage::open(Agent::Codex, prepare, |_| Vec::new())
}

#[test]
fn codex_is_let_in() {
    for (keys, is_trusted) in [(ALLOW, true), (DENY, false)] {
        let Some(stage) = codex() else { return };
        let trust = stage.wait_for("trust");
        assert_eq!(trust.about.as_deref(), stage.bed.project().to_str());
        stage.answer("trust", ALLOW, "hook_trust");
        stage.answer("hook_trust", keys, "model");
        stage.answer("model", DENY, "Ask Codex to do anything");
        assert_eq!(stage.shown(), None);
        let settings = std::fs::read_to_string(stage.bed.home().join(".codex/config.toml"));
        assert_eq!(settings.unwrap().contains("trusted_hash"), is_trusted);
    }
}

#[test]
fn codex_is_sent_away() {
    let Some(stage) = codex() else { return };
    stage.answer("trust", DENY, ENDED);
}

#[test]
fn gemini_cli_is_let_in() {
    for (keys, trust) in [(ALLOW, "TRUST_FOLDER"), (DENY, "DO_NOT_TRUST")] {
        let Some(stage) = Stage::open(Agent::GeminiCli, AgentSandbox::be_first_day, |_| Vec::new())
        else {
            return;
        };
        stage.answer("trust", keys, "Type your message");
        assert_eq!(stage.shown(), None);
        let folders = std::fs::read_to_string(stage.bed.home().join(".gemini/trustedFolders.json"));
        assert!(folders.as_ref().unwrap().contains(trust), "{folders:?}");
    }
}

fn asks(bed: &mut AgentSandbox) {
    bed.set_variable("OPENCODE_PERMISSION", json!({"bash": "ask", "edit": "ask"}).to_string());
}

fn script(bed: &AgentSandbox) -> Vec<ModelTurn> {
    let write = bed.write_tool("notes.txt", "hello\n");
    vec![bed.shell_tool("touch done"), write, ModelTurn::text("it rests")]
}

/// Agents that take no answer from a hook are answered on their screens.
#[test]
fn permissions_are_given() {
    for agent in [Agent::GeminiCli, Agent::OpenCode] {
        let Some(stage) = Stage::open(agent, asks, script) else { return };
        stage.screen.submit("do it");
        let shell = stage.wait_for("permission");
        assert!(shell.about.as_ref().unwrap().contains("touch done"), "{shell:?}");
        assert!(!stage.has("done"));
        stage.answer("permission", ALLOW, "notes.txt");
        wait_within(AGENT_PATIENCE, "the call", || stage.has("done"));
        let edit = stage.wait_for("permission");
        assert!(edit.about.as_ref().unwrap().contains("notes.txt"), "{edit:?}");
        stage.answer("permission", ALLOW, "it rests");
        assert!(stage.has("notes.txt") && stage.shown().is_none());
    }
}

#[test]
fn permissions_are_refused() {
    for (agent, input) in [(Agent::GeminiCli, "Type your message"), (Agent::OpenCode, "ctrl+p")] {
        let Some(stage) = Stage::open(agent, asks, script) else { return };
        stage.screen.submit("do it");
        stage.answer("permission", DENY, input);
        assert!(!stage.has("done") && stage.shown().is_none());
    }
}
